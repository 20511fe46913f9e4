// NVSHMEM's host library without its headers. What its headers define inline (nvshmemx_init_attr
// and others) goes through nvshmemx_hostlib_init_attr here. tests/native holds every declaration
// against the wheel's headers.
#pragma once

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
         void(std::uint64_t* signal, int comparison, std::uint64_t value, Stream))
// clang-format on

namespace wirespeed {

struct Nvshmem {
    using Stream = void*;

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

    explicit Nvshmem(const Library& library) { WS_NVSHMEM_CALLS(WS_TABLE_BIND) }
};

static_assert(sizeof(Nvshmem::UniqueId) == 128 && sizeof(Nvshmem::UniqueIdArguments) == 24);
static_assert(sizeof(Nvshmem::Arguments) == 128 && sizeof(Nvshmem::Attributes) == 144);

}  // namespace wirespeed
