// Persistent kernels of a pair (persistent.h, pair.h), and facts that the host asks for first.
#pragma once

#include "kernels/persistent.h"

WS_PROGRAM_KERNEL(ws_pair_ll_lane, ws_ll, ws_one_lane)
WS_PROGRAM_KERNEL(ws_pair_ll_warp, ws_ll, ws_one_warp)
WS_PROGRAM_KERNEL(ws_pair_ll_block, ws_ll, ws_short_block)
WS_PROGRAM_KERNEL(ws_pair_ll, ws_ll, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_stores, ws_stores, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_tma, ws_tma, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_pull, ws_pull, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_tma_pull, ws_tma_pull, ws_whole_block)

/// [0]: 1 if there is a TMA; [1]: the smallest step of the clock in ticks; [2]: payload of a
/// packet in bytes; [3]: threads that a block may have.
WS_KERNEL ws_platform_facts(u64* facts) {
    if (ws_thread() != 0) return;
    facts[0] = WS_HAS_TMA;
    u64 least = ~0ull;
    for (int i = 0; i < 64; ++i) {
        const u64 from = ws_ticks();
        u64 to = from;
        while (to == from) to = ws_ticks();
        if (to - from < least) least = to - from;
    }
    facts[1] = least;
    facts[2] = WS_PACKET_BYTES;
    facts[3] = WS_MOST_LANES;
}

/// Lasts so many ticks: by that the host finds out whether the clock counts as fast as it is said
/// to.
WS_KERNEL ws_wait_ticks(u64 ticks) {
    const u64 from = ws_ticks();
    // A clock that stands still must not hold the kernel for ever.
    for (u64 turns = 0; ws_ticks() - from < ticks && turns < 1u << 28; ++turns) {
    }
}
