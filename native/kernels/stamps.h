// The times at which stretches of iterations begin and end, stamped by one thread of the grid.
#pragma once

#include "kernels/channel.h"

/// In place of an iteration's number: no iteration has begun, but all kernels are here.
constexpr u64 ws_have_met = ~(u64)0;

struct WsStamps {
    bool leads;
    u32* gathered;
    u32 expected;
    const u32* stop;
    u64* next;
    u64* progress;
    u64 shown, show_after;
};

/// Where each block fetches its share (`pulls`), the message is complete when the last one is done.
template <int protocol> WS_INLINE void ws_stamp(WsStamps& stamps, u64 iteration) {
    if (ws_pulls(protocol)) {
        ws_sync();
        if (ws_lane() == 0) {
            ws_fence();
            ws_atomic_add(stamps.gathered, 1);
        }
        stamps.expected += (u32)ws_blocks();
        if (stamps.leads) ws_wait_word(stamps.gathered, stamps.expected, stamps.stop);
    }
    if (!stamps.leads) return;
    const u64 time = ws_ticks();
    *stamps.next++ = time;
    // Rarely, for a write to the host holds up the next fence.
    if (time - stamps.shown > stamps.show_after) {
        stamps.shown = time;
        ws_store_stamp(stamps.progress, iteration);
    }
}

/// Iterations of a stretch, the `left`th last one.
WS_INLINE u32 ws_iterations(const WsProgram& program, u64 left) {
    const bool ends = left <= program.timed && (u32)(left - 1) % program.parts == 0;
    return ends ? program.rest : (u32)program.each;
}
