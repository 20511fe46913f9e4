// Facts that the host asks a device for before it compiles what takes seconds.
#pragma once

#include "kernels/ll.h"
#include "kernels/tma.h"

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
