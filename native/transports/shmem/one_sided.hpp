// Puts and gets that no message accompanies, each complete before the next one begins.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "measure/program.hpp"
#include "transports/align.hpp"
#include "transports/local/operation.hpp"
#include "transports/shmem/stream_calls.hpp"

namespace wirespeed::shmem {

/// As the option "operation" says. Throws Unavailable for one that NVSHMEM's kernels have alone.
inline std::optional<Operation> one_sided_operation(const Context& context) {
    const auto operation = operation_of(context);
    // nvshmem_int64_atomic_fetch_add is there, and prints "not implemented" (3.8.0).
    if (operation == Operation::fetch_add)
        throw Unavailable(
            "fetch-and-add is not offered by NVSHMEM's host library, only in kernels");
    return operation;
}

class OneSided final : public Action {
  public:
    OneSided(StreamCalls calls, Operation operation)
        : calls_(std::move(calls)), get_(operation == Operation::get) {}

    /// `theirs` is `step` as its peers see it; buffers are symmetric.
    void add(const Step& step, const Step& theirs, const Buffers& buffers) {
        const auto& mine = get_ ? step.receives : step.sends;
        const auto& seen = get_ ? theirs.receives : theirs.sends;
        for (std::size_t i = 0; i < mine.size(); ++i) {
            std::byte* const to = buffers.receive + (get_ ? mine[i] : seen[i]).offset;
            const std::byte* const from = buffers.send + (get_ ? seen[i] : mine[i]).offset;
            parts_.push_back({to, from, mine[i].bytes, mine[i].peer});
        }
    }

    void run() override {
        for (const Part& part : parts_) {
            calls_.move(get_, part.to, part.from, part.bytes, part.peer);
            calls_.finish(part.peer);
        }
    }

    const char* name() const {
        return get_ ? "nvshmemx_getmem_on_stream" : "nvshmemx_putmem_on_stream";
    }

  private:
    struct Part {
        std::byte* to;  ///< of both places, the remote one is given as this rank's own
        const std::byte* from;
        std::size_t bytes;
        int peer;
    };
    StreamCalls calls_;
    bool get_;
    std::vector<Part> parts_;
};

/// The target waits at the end until the origin is done: only then has it what was put.
class OneSidedProgram final : public WrappedProgram {
  public:
    OneSidedProgram(Context& context, std::unique_ptr<Program> program)
        : WrappedProgram(std::move(program)), page_(context.page), barrier_(align(context)) {}

  private:
    void after(Stamps&) override {
        barrier_->run();
        page_.leave();
    }

    Page& page_;
    std::unique_ptr<Action> barrier_;
};

}  // namespace wirespeed::shmem
