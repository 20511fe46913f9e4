// A conduit of GASNet-EX, as wirespeed/host/gasnet/shim.c offers it: built on the user's machine
// against the user's GASNet.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libraries/table.hpp"

// clang-format off
#define WS_GASNET_CALLS(CALL) \
    CALL(release, wirespeed_gasnet_release, const char*()) \
    CALL(has_master, wirespeed_gasnet_has_master, int()) \
    CALL(join, wirespeed_gasnet_join, int(std::size_t bytes)) \
    CALL(error, wirespeed_gasnet_error, const char*(int error)) \
    CALL(rank, wirespeed_gasnet_rank, int()) \
    CALL(ranks, wirespeed_gasnet_ranks, int()) \
    CALL(memory, wirespeed_gasnet_memory, void*(int rank, std::size_t* bytes)) \
    CALL(put, wirespeed_gasnet_put, \
         void(void* to, void* from, std::size_t bytes, std::uint64_t* word, std::uint64_t value, int peer)) \
    CALL(flush, wirespeed_gasnet_flush, void()) \
    CALL(signal, wirespeed_gasnet_signal, void(std::uint64_t* word, std::uint64_t value, int peer)) \
    CALL(poll, wirespeed_gasnet_poll, void()) \
    CALL(quiet, wirespeed_gasnet_quiet, void())
// clang-format on

namespace wirespeed {

struct Gasnet {
    static constexpr int known_interface = 2;

    WS_GASNET_CALLS(WS_TABLE_MEMBER)

    explicit Gasnet(const Library& library) { WS_GASNET_CALLS(WS_TABLE_BIND) }
};

}  // namespace wirespeed
