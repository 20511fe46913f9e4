// A barrier of all blocks of a grid. Each block has a word of its own, which says how often it has
// come; one thread for each word looks at it. (A counter for all would take their additions one by
// one.)
#pragma once

#include "kernels/ll.h"

struct WsGridBarrier {
    u32* words;
    u32 number;  ///< of barriers so far
};

/// All blocks have come here, and see what the others wrote before. False on some thread of a
/// block: told to give up.
WS_INLINE bool ws_meet_grid(WsGridBarrier& barrier, const u32* stop) {
    const u32 number = ++barrier.number, blocks = (u32)ws_blocks();
    ws_sync();
    if (blocks == 1) return true;
    if (ws_lane() == 0) ws_release_near(barrier.words + ws_block(), number);
    bool good = true;
    WS_ROLLED
    for (u32 i = ws_lane(); i < blocks && good; i += ws_lanes())
        good = ws_spin(stop, [&] { return (int)(ws_load_near(barrier.words + i) - number) >= 0; });
    ws_sync();
    return good;
}
