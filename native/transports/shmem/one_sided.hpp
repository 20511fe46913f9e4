// NVSHMEM's puts and gets that no message accompanies.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "transports/local/one_sided.hpp"
#include "transports/shmem/stream_calls.hpp"

namespace wirespeed::shmem {

/// As the option "operation" says. Throws Unavailable for one that NVSHMEM's kernels have alone.
inline std::optional<OneSidedOperation> one_sided_operation(const Context& context) {
    const auto operation = operation_of(context);
    // nvshmem_int64_atomic_fetch_add is there, and prints "not implemented" (3.8.0).
    if (operation == OneSidedOperation::fetch_add)
        throw Unavailable(
            "fetch-and-add is not offered by NVSHMEM's host library, only in kernels");
    return operation;
}

class OneSidedCalls {
  public:
    struct Part {
        std::byte* here;   ///< this rank's end of the transfer
        std::byte* there;  ///< the peer's end, given as this rank's own: buffers are symmetric
        std::size_t bytes;
        int peer;
    };
    static constexpr const char* flush_name = "nvshmemx_quiet_on_stream";

    explicit OneSidedCalls(StreamCalls calls) : calls_(std::move(calls)) {}

    const char* name(OneSidedOperation operation) const {
        return operation == OneSidedOperation::get ? "nvshmemx_getmem_on_stream"
                                                   : "nvshmemx_putmem_on_stream";
    }
    void start(const Part& part, OneSidedOperation operation, Additions&) {
        const bool get = operation == OneSidedOperation::get;
        calls_.move(get, get ? part.here : part.there, get ? part.there : part.here, part.bytes,
                    part.peer);
    }
    void flush(const Part& part, CallId) { calls_.finish(part.peer); }

  private:
    StreamCalls calls_;
};

}  // namespace wirespeed::shmem
