// NVSHMEM from the host: what one iteration does is enqueued in a CUDA stream, for which the CPU
// waits once. A put has its signal behind it, for which the receiver's own stream waits; one that
// no message accompanies (rma) has a quiet behind it.
// Messages keep their order: over direct access because they are in one stream, over a network
// because they use one connection.
#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/local/symmetric_heap.hpp"
#include "transports/shmem/one_sided.hpp"
#include "transports/shmem/session.hpp"
#include "transports/shmem/team_operation.hpp"

namespace wirespeed {
namespace {

class ShmemTransport final : public SymmetricTransport<shmem::Session> {
  public:
    /// What NVSHMEM does not offer is refused before it starts.
    explicit ShmemTransport(Context& context)
        : ShmemTransport(context, shmem::one_sided_operation(context)) {}

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        return operation_ ? one_sided(steps, buffers) : SymmetricTransport::compile(steps, buffers);
    }

    std::unique_ptr<Program> compile_collective(const Collective& collective,
                                                const Buffers& buffers) override {
        auto operation = std::make_unique<shmem::TeamOperation>(heap_.puts(context_), heap_.calls(),
                                                                collective, buffers.send);
        const std::string name = operation->name();
        return std::make_unique<DescribedProgram>(context_, std::move(operation),
                                                  "\"call\": " + json_text(name));
    }

  private:
    ShmemTransport(Context& context, std::optional<OneSidedOperation> operation)
        : SymmetricTransport(context), operation_(operation) {}

    std::string details(std::span<const Step> steps, const Buffers& buffers) const override {
        const bool direct = std::ranges::all_of(steps, [&](const Step& step) {
            return std::ranges::all_of(step.sends, [&](const Transfer& send) {
                return heap_.calls().direct(buffers.receive, send.peer) != nullptr;
            });
        });
        return std::string(", \"direct\": ") + (direct ? "true" : "false");
    }

    std::unique_ptr<Program> one_sided(std::span<const Step> steps, const Buffers& buffers) {
        using Calls = shmem::OneSidedCalls;
        const auto theirs = peer_offsets(context_.control, steps);
        auto moves =
            std::make_unique<OneSided<Calls>>(Calls(heap_.puts(context_)), *operation_, context_);
        std::byte* const there =
            operation_ == OneSidedOperation::get ? buffers.send : buffers.receive;
        moves->add(steps, theirs, buffers, [&](std::byte* here, const Transfer& seen) {
            return Calls::Part{here, there + seen.offset, seen.bytes, seen.peer};
        });
        return std::make_unique<OneSidedProgram<Calls>>(context_, std::move(moves),
                                                        align(context_));
    }

    std::optional<OneSidedOperation> operation_;
};

const AddTransport add_shmem{"shmem", open_as<ShmemTransport>};

}  // namespace
}  // namespace wirespeed
