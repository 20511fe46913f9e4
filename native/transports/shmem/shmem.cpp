// NVSHMEM from the host: what one iteration does is enqueued in a CUDA stream, for which the CPU
// waits once. A put has its signal behind it, for which the receiver's own stream waits.
// Messages keep their order: over direct access because they are in one stream, over a network
// because they use one connection.
#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/signalled.hpp"
#include "transports/shmem/session.hpp"

namespace wirespeed {
namespace {

using shmem::Session;

class StreamCalls {
  public:
    StreamCalls(const Nvshmem& calls, Device& device, Page& page)
        : calls_(calls), page_(page), stream_(device.stream()), native_(stream_->native()),
          enqueue_(page.name("NVSHMEM call on a stream")),
          wait_(page.name("wait for NVSHMEM's stream")) {}

    void put(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t* word,
             std::uint64_t value, int peer) {
        page_.enter(enqueue_, peer);
        calls_.put_signal(to, from, bytes, word, value, Nvshmem::signal_set, peer, native_);
    }
    void signal(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(enqueue_, peer);
        calls_.signal(word, value, Nvshmem::signal_set, peer, native_);
    }
    void wait(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(enqueue_, peer);
        calls_.wait_signal(word, Nvshmem::compare_ge, value, native_);
    }
    void finish(int peer) {
        page_.enter(wait_, peer);  // a stream does not say whom it waits for
        stream_->wait();
    }

  private:
    const Nvshmem& calls_;
    Page& page_;
    std::unique_ptr<Stream> stream_;
    void* native_;
    CallId enqueue_, wait_;
};

class ShmemTransport final : public Transport {
  public:
    explicit ShmemTransport(Context& context)
        : Transport(context), session_(context),
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
        const bool ready_notice = has_overwrite_hazard(context_.control, steps, buffers);
        auto iterations = std::make_unique<SignalledIterations<StreamCalls>>(
            StreamCalls(session_.calls(), context_.device, context_.page), signals_, ready_notice);
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

    std::string describe() const override {
        return "\"library\": " + quoted("NVSHMEM " + session_.version());
    }

  private:
    Session session_;
    std::byte* words_;
    Signals signals_;
};

const AddTransport add{"shmem", open_as<ShmemTransport>};

}  // namespace
}  // namespace wirespeed
