// OpenSHMEM as Open MPI brings it along (liboshmem), without its headers. tests/native holds every
// declaration against shmem.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libraries/table.hpp"

// clang-format off
#define WS_OSHMEM_CALLS(CALL) \
    CALL(init, shmem_init, void()) \
    CALL(rank, shmem_my_pe, int()) \
    CALL(ranks, shmem_n_pes, int()) \
    CALL(allocate, shmem_malloc, void*(std::size_t bytes)) \
    CALL(release, shmem_free, void(void*)) \
    CALL(put, shmem_putmem, void(void* to, const void* from, std::size_t bytes, int peer)) \
    CALL(fence, shmem_fence, void()) \
    CALL(quiet, shmem_quiet, void()) \
    CALL(set, shmem_uint64_p, void(std::uint64_t* word, std::uint64_t value, int peer)) \
    CALL(wait_until, shmem_uint64_wait_until, \
         void(std::uint64_t* word, int comparison, std::uint64_t value))
// clang-format on

namespace wirespeed {

struct Oshmem {
    static constexpr int compare_ge = 5;

    WS_OSHMEM_CALLS(WS_TABLE_MEMBER)
    /// Its own notice that the process is going down in disorder: then its handler at exit does
    /// nothing. Null where the library hides it.
    bool* aborted;

    explicit Oshmem(const Library& library)
        : aborted(static_cast<bool*>(library.find("oshmem_shmem_aborted"))) {
        WS_OSHMEM_CALLS(WS_TABLE_BIND)
    }
};

}  // namespace wirespeed
