// NVSHMEM from the host: what one iteration does is enqueued in a CUDA stream, for which the CPU
// waits once. A put has its signal behind it, for which the receiver's own stream waits; one that
// no message accompanies (rma) has a quiet behind it.
// Messages keep their order: over direct access because they are in one stream, over a network
// because they use one connection.
#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/signalled.hpp"
#include "transports/shmem/one_sided.hpp"
#include "transports/shmem/session.hpp"
#include "transports/shmem/stream_calls.hpp"
#include "transports/shmem/team_operation.hpp"

namespace wirespeed {
namespace {

using shmem::Session;
using shmem::StreamCalls;

class ShmemTransport final : public Transport {
  public:
    explicit ShmemTransport(Context& context)
        : Transport(context), operation_(shmem::one_sided_operation(context)), session_(context),
          words_(session_.allocate(Signals::bytes(context.control.size()))),
          signals_(words_, context.control.rank(), context.control.size()) {
        // All words are zero before anyone signals.
        exchange(context.control, [&] {
            const std::vector<std::byte> zeros(Signals::bytes(context.control.size()));
            context.device.copy(words_, zeros.data(), zeros.size());
            return true;
        });
    }

    void close() override {
        session_.release(words_);
        session_.close();
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        if (kind != Memory::device) throw Unavailable("NVSHMEM moves device memory and no other");
        context_.device.enter();
        Buffers buffers;
        buffers.kind = kind;
        buffers.bytes = bytes;
        buffers.send = session_.allocate(bytes);
        try {
            buffers.receive = session_.allocate(bytes);
        } catch (...) {
            session_.release(buffers.send);
            throw;
        }
        return buffers;
    }

    void release(Buffers& buffers) override {
        session_.release(buffers.send);
        session_.release(buffers.receive);
        buffers = {};
    }
    void abandon(Buffers& buffers) noexcept override { buffers = {}; }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const auto theirs = peer_offsets(context_.control, steps);
        if (operation_) return one_sided(steps, theirs, buffers);
        const bool ready_notice = has_overwrite_hazard(context_.control, steps, buffers);
        auto iterations =
            std::make_unique<SignalledIterations<StreamCalls>>(calls(), signals_, ready_notice);
        bool direct = true;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            iterations->add(steps[i], theirs[i], buffers);
            for (const Transfer& send : steps[i].sends)
                direct &= session_.calls().direct(buffers.receive, send.peer) != nullptr;
        }
        const auto word = [](bool value) { return value ? "true" : "false"; };
        return std::make_unique<DescribedProgram>(context_, std::move(iterations),
                                                  std::string("\"ready_notice\": ") +
                                                      word(ready_notice) +
                                                      ", \"direct\": " + word(direct));
    }

    std::unique_ptr<Program> compile_collective(const Collective& collective,
                                                const Buffers& buffers) override {
        auto operation = std::make_unique<shmem::TeamOperation>(calls(), session_.calls(),
                                                                collective, buffers.send);
        const std::string name = operation->name();
        return std::make_unique<DescribedProgram>(context_, std::move(operation),
                                                  "\"call\": " + json_text(name));
    }

    std::string describe() const override {
        return "\"library\": " + json_text("NVSHMEM " + session_.version());
    }

  private:
    std::unique_ptr<Program> one_sided(std::span<const Step> steps, std::span<const Step> theirs,
                                       const Buffers& buffers) {
        using Calls = shmem::OneSidedCalls;
        const bool get = operation_ == Operation::get;
        auto moves = std::make_unique<OneSided<Calls>>(Calls(calls()), *operation_, context_);
        std::byte* const here = get ? buffers.receive : buffers.send;
        std::byte* const there = get ? buffers.send : buffers.receive;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const auto& mine = get ? steps[i].receives : steps[i].sends;
            const auto& seen = get ? theirs[i].receives : theirs[i].sends;
            for (std::size_t k = 0; k < mine.size(); ++k)
                moves->add(
                    {here + mine[k].offset, there + seen[k].offset, mine[k].bytes, mine[k].peer});
        }
        auto& operations = *moves;
        const std::string description = moves->describe();
        return std::make_unique<OneSidedProgram<Calls>>(
            context_, operations,
            std::make_unique<DescribedProgram>(context_, std::move(moves), description),
            align(context_));
    }

    StreamCalls calls() { return {session_.calls(), context_.device, context_.page}; }

    std::optional<Operation> operation_;
    Session session_;
    std::byte* words_;
    Signals signals_;
};

const AddTransport add_shmem{"shmem", open_as<ShmemTransport>};

}  // namespace
}  // namespace wirespeed
