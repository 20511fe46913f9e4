// UCX's protocol layer (libucp) without its headers. tests/native holds every declaration against
// ucp.h. Masks say which members of a structure are set, so that those of UCX 1.12 and later agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "libraries/table.hpp"

// clang-format off
#define WS_UCX_CALLS(CALL) \
    CALL(version, ucp_get_version_string, const char*()) \
    CALL(status_text, ucs_status_string, const char*(Status)) \
    CALL(init, ucp_init_version, Status(unsigned major, unsigned minor, const ContextParams*, \
                                        const void* config, Context*)) \
    CALL(cleanup, ucp_cleanup, void(Context)) \
    CALL(query, ucp_context_query, Status(Context, ContextAttributes*)) \
    CALL(worker_create, ucp_worker_create, Status(Context, const WorkerParams*, Worker*)) \
    CALL(worker_destroy, ucp_worker_destroy, void(Worker)) \
    CALL(progress, ucp_worker_progress, unsigned(Worker)) \
    CALL(fence, ucp_worker_fence, Status(Worker)) \
    CALL(flush_worker, ucp_worker_flush_nbx, Request(Worker, const RequestParams*)) \
    CALL(get_address, ucp_worker_get_address, Status(Worker, void** address, std::size_t* bytes)) \
    CALL(release_address, ucp_worker_release_address, void(Worker, void* address)) \
    CALL(connect, ucp_ep_create, Status(Worker, const EndpointParams*, Endpoint*)) \
    CALL(print, ucp_ep_print_info, void(Endpoint, std::FILE*)) \
    CALL(send, ucp_tag_send_nbx, Request(Endpoint, const void* from, std::size_t bytes, Tag, \
                                         const RequestParams*)) \
    CALL(receive, ucp_tag_recv_nbx, Request(Worker, void* to, std::size_t bytes, Tag, Tag mask, \
                                            const RequestParams*)) \
    CALL(put, ucp_put_nbx, Request(Endpoint, const void* from, std::size_t bytes, \
                                   std::uint64_t to, RemoteKey, const RequestParams*)) \
    CALL(get, ucp_get_nbx, Request(Endpoint, void* to, std::size_t bytes, \
                                   std::uint64_t from, RemoteKey, const RequestParams*)) \
    CALL(atomic, ucp_atomic_op_nbx, Request(Endpoint, Atomic, const void* operand, \
                                            std::size_t count, std::uint64_t to, RemoteKey, \
                                            const RequestParams*)) \
    CALL(flush, ucp_ep_flush_nbx, Request(Endpoint, const RequestParams*)) \
    CALL(test, ucp_request_check_status, Status(Request)) \
    CALL(free, ucp_request_free, void(Request)) \
    CALL(map, ucp_mem_map, Status(Context, const MapParams*, MemoryHandle*)) \
    CALL(unmap, ucp_mem_unmap, Status(Context, MemoryHandle)) \
    CALL(key_pack, ucp_rkey_pack, Status(Context, MemoryHandle, void** key, std::size_t* bytes)) \
    CALL(key_release, ucp_rkey_buffer_release, void(void* key)) \
    CALL(key_unpack, ucp_ep_rkey_unpack, Status(Endpoint, const void* key, RemoteKey*)) \
    CALL(key_destroy, ucp_rkey_destroy, void(RemoteKey))
// clang-format on

namespace wirespeed {

struct Ucx {
    using Context = void*;
    using Worker = void*;
    using Endpoint = void*;
    using MemoryHandle = void*;
    using RemoteKey = void*;
    using Tag = std::uint64_t;
    using Status = std::int8_t;
    /// Null: done at once. The last 100 addresses: an error's code.
    using Request = void*;
    using MemoryType = int;
    using Atomic = unsigned;

    static constexpr Status success = 0, in_progress = 1, last_error = -100;
    static constexpr MemoryType host = 0, cuda = 1, cuda_managed = 2, rocm = 3, rocm_managed = 4;
    static constexpr Atomic add = 0;
    static constexpr unsigned major = 1, minor = 12;  ///< the interface that this is written for

    struct ContextParams {
        static constexpr std::uint64_t has_features = 1, has_ranks = 64, has_ranks_per_host = 128;
        static constexpr std::uint64_t tag = 1, rma = 2, words = 8;

        std::uint64_t mask, features;
        std::size_t request_bytes = 0;
        void *request_init = nullptr, *request_cleanup = nullptr;
        Tag sender_mask = 0;
        int shared_by_threads = 0;
        std::size_t ranks, ranks_per_host;
        std::uint64_t later[2] = {};
    };
    struct ContextAttributes {
        static constexpr std::uint64_t has_memory_types = 4;

        std::uint64_t mask;
        std::size_t request_bytes = 0;
        int thread_mode = 0;
        std::uint64_t memory_types = 0;  ///< a bit for each
        std::uint64_t later[8] = {};
    };
    struct WorkerParams {
        static constexpr std::uint64_t has_thread_mode = 1;
        static constexpr int one_thread = 0;

        std::uint64_t mask;
        int thread_mode;
        std::uint64_t later[24] = {};
    };
    struct EndpointParams {
        static constexpr std::uint64_t has_address = 1;

        std::uint64_t mask;
        const void* address;
        std::uint64_t later[12] = {};
    };
    struct MapParams {
        static constexpr std::uint64_t has_address = 1, has_bytes = 2, has_memory_type = 16;

        std::uint64_t mask;
        void* address;
        std::size_t bytes;
        unsigned flags = 0, protection = 0;
        MemoryType memory_type;
        std::uint64_t later[2] = {};
    };
    struct IoVec {
        void* address;
        std::size_t bytes;
    };
    struct RequestParams {
        static constexpr std::uint32_t has_datatype = 1 << 3, has_reply = 1 << 5;
        static constexpr std::uint32_t has_memory_type = 1 << 6;
        static constexpr std::uint64_t scattered = 2;   ///< an array of IoVec, which counts them
        static constexpr std::uint64_t words = 8 << 3;  ///< of 8 bytes, one after the other
        /// A send that is waited for until its buffer is free, as MPI_Send's is.
        static constexpr std::uint32_t completes_early = 1 << 17;

        std::uint32_t mask;
        std::uint32_t flags = 0;
        void *request = nullptr, *callback = nullptr;
        std::uint64_t datatype = 0;
        void *user_data = nullptr, *reply = nullptr;
        MemoryType memory_type = host;
        std::uint64_t later[6] = {};
    };

    WS_UCX_CALLS(WS_TABLE_MEMBER)

    explicit Ucx(const Library& library) { WS_UCX_CALLS(WS_TABLE_BIND) }
    /// The one that MPI has loaded, if any: a process cannot have two. Throws Unavailable, with
    /// what to install, where there is none.
    static Library open();

    static Status error(Request request) {
        const auto code = reinterpret_cast<std::intptr_t>(request);
        return code < 0 && code >= last_error ? static_cast<Status>(code) : success;
    }
};

}  // namespace wirespeed
