// NVSHMEM's host library without its headers. What its headers define inline (nvshmemx_init_attr
// and others) goes through nvshmemx_hostlib_init_attr here. tests/native holds every declaration
// against the wheel's headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "libraries/table.hpp"

// clang-format off
#define WS_NVSHMEM_CALLS(CALL) \
    CALL(get_unique_id, nvshmemx_get_uniqueid, int(UniqueId*)) \
    CALL(set_unique_id, nvshmemx_set_attr_uniqueid_args, \
         int(int rank, int ranks, const UniqueId*, Attributes*)) \
    CALL(init, nvshmemx_hostlib_init_attr, int(unsigned flags, Attributes*)) \
    CALL(finalize, nvshmemx_hostlib_finalize, void()) \
    CALL(rank, nvshmem_my_pe, int()) \
    CALL(version, nvshmemx_vendor_get_version_info, void(int* major, int* minor, int* patch)) \
    CALL(allocate, nvshmem_malloc, void*(std::size_t bytes)) \
    CALL(release, nvshmem_free, void(void*)) \
    CALL(direct, nvshmem_ptr, void*(const void*, int peer)) \
    CALL(put_signal, nvshmemx_putmem_signal_on_stream, \
         void(void* to, const void* from, std::size_t bytes, std::uint64_t* signal, \
              std::uint64_t value, int operation, int peer, Stream)) \
    CALL(signal, nvshmemx_signal_op_on_stream, \
         void(std::uint64_t* signal, std::uint64_t value, int operation, int peer, Stream)) \
    CALL(wait_signal, nvshmemx_signal_wait_until_on_stream, \
         void(std::uint64_t* signal, int comparison, std::uint64_t value, Stream)) \
    CALL(put, nvshmemx_putmem_on_stream, \
         void(void* to, const void* from, std::size_t bytes, int peer, Stream)) \
    CALL(get, nvshmemx_getmem_on_stream, \
         void(void* to, const void* from, std::size_t bytes, int peer, Stream)) \
    CALL(quiet, nvshmemx_quiet_on_stream, void(Stream))
// Collective operations of a team. A reduction has a call for each operation and type, in the order
// of `Collective`.
#define WS_NVSHMEM_TEAM_CALLS(CALL) \
    CALL(barrier, nvshmemx_barrier_on_stream, int(Team, Stream)) \
    CALL(broadcast, nvshmemx_broadcastmem_on_stream, \
         int(Team, void* to, const void* from, std::size_t bytes, int root, Stream)) \
    CALL(allgather, nvshmemx_fcollectmem_on_stream, \
         int(Team, void* to, const void* from, std::size_t bytes, Stream)) \
    CALL(alltoall, nvshmemx_alltoallmem_on_stream, \
         int(Team, void* to, const void* from, std::size_t bytes, Stream))
#define WS_NVSHMEM_TYPES(CALL, reduction, operation) \
    CALL(reduction, operation, float) CALL(reduction, operation, half) \
    CALL(reduction, operation, bfloat16) CALL(reduction, operation, double) \
    CALL(reduction, operation, int32)
#define WS_NVSHMEM_REDUCTIONS(CALL, operation) \
    WS_NVSHMEM_TYPES(CALL, sum, operation) WS_NVSHMEM_TYPES(CALL, max, operation) \
    WS_NVSHMEM_TYPES(CALL, min, operation)
// clang-format on

namespace wirespeed {

struct Nvshmem {
    using Stream = void*;
    using Team = std::int32_t;
    using Reduce = int(Team, void* to, const void* from, std::size_t count, Stream);

    static constexpr Team world = 0;
    static constexpr unsigned init_with_unique_id = 8;
    static constexpr int signal_set = 9;
    static constexpr int compare_ge = 5;

    /// Each structure starts with its version: the first of its kind and its size. Releases up to
    /// 3.4 know no other; later ones take it too.
    static constexpr int first_version(std::size_t bytes) {
        return (1 << 16) + static_cast<int>(bytes);
    }
    struct UniqueId {
        int version = first_version(128);
        char content[124] = {};
    };
    struct UniqueIdArguments {
        int version = first_version(24);
        UniqueId* id = nullptr;
        int rank = -1, ranks = -1;
    };
    struct Arguments {
        int version = first_version(128);
        UniqueIdArguments unique_id;
        char content[96] = {};
    };
    struct Attributes {
        int version = first_version(144);
        void* mpi_communicator = nullptr;
        Arguments arguments;
    };

    WS_NVSHMEM_CALLS(WS_TABLE_MEMBER)
    WS_NVSHMEM_TEAM_CALLS(WS_TABLE_MEMBER)

    /// By number of the type, for each number of the operation; null where the library has none.
    std::array<Reduce*, 15> reduce{}, reduce_scatter{};

    explicit Nvshmem(const Library& library) {
        WS_NVSHMEM_CALLS(WS_TABLE_BIND)
        WS_NVSHMEM_TEAM_CALLS(WS_TABLE_BIND)
#define WS_FIND(reduction, operation, type) \
    reinterpret_cast<Reduce*>(              \
        library.find("nvshmemx_" #type "_" #reduction "_" #operation "_on_stream")),
        reduce = {WS_NVSHMEM_REDUCTIONS(WS_FIND, reduce)};
        reduce_scatter = {WS_NVSHMEM_REDUCTIONS(WS_FIND, reducescatter)};
#undef WS_FIND
    }
};

static_assert(sizeof(Nvshmem::UniqueId) == 128 && sizeof(Nvshmem::UniqueIdArguments) == 24);
static_assert(sizeof(Nvshmem::Arguments) == 128 && sizeof(Nvshmem::Attributes) == 144);

}  // namespace wirespeed
