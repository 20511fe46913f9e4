// NCCL without its header; RCCL, AMD's, has the same names. tests/native holds every declaration
// against nccl.h or rccl.h.
#pragma once

#include <cstddef>
#include <string>

#include "libraries/table.hpp"

// clang-format off
#define WS_NCCL_CALLS(CALL) \
    CALL(get_version, ncclGetVersion, Result(int* version)) \
    CALL(get_unique_id, ncclGetUniqueId, Result(UniqueId*)) \
    CALL(init_rank, ncclCommInitRank, Result(Comm*, int ranks, UniqueId, int rank)) \
    CALL(destroy, ncclCommDestroy, Result(Comm)) \
    CALL(abort, ncclCommAbort, Result(Comm)) \
    CALL(async_error, ncclCommGetAsyncError, Result(Comm, Result* error)) \
    CALL(send, ncclSend, Result(const void* from, std::size_t count, DataType, int peer, Comm, Stream)) \
    CALL(receive, ncclRecv, Result(void* to, std::size_t count, DataType, int peer, Comm, Stream)) \
    CALL(group_start, ncclGroupStart, Result()) \
    CALL(group_end, ncclGroupEnd, Result()) \
    CALL(all_reduce, ncclAllReduce, \
         Result(const void*, void*, std::size_t count, DataType, Op, Comm, Stream)) \
    CALL(all_gather, ncclAllGather, \
         Result(const void*, void*, std::size_t count, DataType, Comm, Stream)) \
    CALL(reduce_scatter, ncclReduceScatter, \
         Result(const void*, void*, std::size_t count, DataType, Op, Comm, Stream)) \
    CALL(broadcast, ncclBroadcast, \
         Result(const void*, void*, std::size_t count, DataType, int root, Comm, Stream)) \
    CALL(reduce, ncclReduce, \
         Result(const void*, void*, std::size_t count, DataType, Op, int root, Comm, Stream)) \
    CALL(error_string, ncclGetErrorString, const char*(Result))

#define WS_NCCL_SINCE_2_13(CALL) \
    CALL(last_error, ncclGetLastError, const char*(Comm))
#define WS_NCCL_SINCE_2_19(CALL) \
    CALL(allocate, ncclMemAlloc, Result(void** address, std::size_t bytes)) \
    CALL(release, ncclMemFree, Result(void*)) \
    CALL(register_buffer, ncclCommRegister, \
         Result(Comm, void*, std::size_t bytes, Registration*)) \
    CALL(deregister_buffer, ncclCommDeregister, Result(Comm, Registration))
#define WS_NCCL_SINCE_2_27(CALL) \
    CALL(register_window, ncclCommWindowRegister, \
         Result(Comm, void*, std::size_t bytes, Registration*, int flags)) \
    CALL(deregister_window, ncclCommWindowDeregister, Result(Comm, Registration))
#define WS_NCCL_SINCE_2_28(CALL) \
    CALL(all_to_all, ncclAlltoAll, \
         Result(const void*, void*, std::size_t count, DataType, Comm, Stream))
// Null where the library is too old.
#define WS_NCCL_NEWER_CALLS(CALL) \
    WS_NCCL_SINCE_2_13(CALL) WS_NCCL_SINCE_2_19(CALL) WS_NCCL_SINCE_2_27(CALL) \
    WS_NCCL_SINCE_2_28(CALL)
// clang-format on

namespace wirespeed {

struct Nccl {
    using Result = int;
    using Comm = void*;
    using DataType = int;
    using Op = int;
    using Stream = void*;
    using Registration = void*;
    struct UniqueId {
        char bytes[128];
    };

    static constexpr Result success = 0;
    static constexpr Result in_progress = 7;
    static constexpr DataType byte = 1;  ///< ncclUint8
    static constexpr DataType int32 = 2, fp16 = 6, fp32 = 7, fp64 = 8, bf16 = 9;
    static constexpr Op sum = 0, max = 2, min = 3;
    static constexpr int symmetric_window = 1;

    struct Calls {
        WS_NCCL_CALLS(WS_TABLE_MEMBER)
        WS_NCCL_NEWER_CALLS(WS_TABLE_MEMBER)

        explicit Calls(const Library& library) {
            WS_NCCL_CALLS(WS_TABLE_BIND)
            WS_NCCL_NEWER_CALLS(WS_TABLE_BIND_IF_THERE)
        }
    };
    struct Names {
        WS_NCCL_CALLS(WS_TABLE_NAME)
    };

    /// The library for devices of this kind: RCCL for "hip", else NCCL. Throws Unavailable, with
    /// what to install, where there is none.
    static Library open(const std::string& device_kind);

    /// "2.27.7" of 22707.
    static std::string version_text(int version);

    /// The library's own words: "remote process exited or there was a network error: ...".
    static std::string text(const Calls& calls, Result code, Comm comm);
};

}  // namespace wirespeed
