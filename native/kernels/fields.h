// What programs on fields share: sums over a block, and norms over all ranks.
#pragma once

#include "kernels/gate.h"

#define WS_FIELD_LANES 512

/// The sum over the block's lanes, on lane 0, in an order that depends on their number alone.
WS_INLINE double ws_block_sum(double mine) {
    WS_SHARED double parts[WS_FIELD_LANES];  // as many as a block has at most
    u32 lane = ws_lane(), left = ws_lanes();
#ifdef WS_WARP
    if (left % WS_WARP == 0) {
        mine = ws_warp_sum(mine);
        left /= WS_WARP;
        // The first lane of a warp speaks for it; the others have no part.
        lane = lane % WS_WARP == 0 ? lane / WS_WARP : WS_FIELD_LANES;
    }
#endif
    if (lane < left) parts[lane] = mine;
    while (left > 1) {
        const u32 half = (left + 1) / 2;
        ws_sync();
        if (lane + half < left) parts[lane] = mine += parts[lane + half];
        left = half;
    }
    ws_sync();  // the room may be used again
    return mine;
}

/// The norm of a time step is summed where no processor waits for another. Each block of a step's
/// kernel leaves its part; a block of the next step's kernel adds them up (ws_norm_gather), so no
/// block has to be the last one; three steps after it was taken the sum travels to all ranks
/// together with the halos; and a block of the kernel after that adds up what all ranks sent
/// (ws_norm_combine), which needs no wait either: that launch follows one that waited for the
/// transfers. Four slots take turns. wirespeed/programs/base.py says why none is overwritten early.
struct WsNormParts {
    u64 blocks[2];  ///< of the step's first launch, and of its second one if there is one
    double parts[1];
};
/// So many blocks of a launch have a part, and they do all its work.
#define WS_NORM_MOST 8192
WS_INLINE u32 ws_norm_blocks() {
    return ws_blocks() < WS_NORM_MOST ? (u32)ws_blocks() : WS_NORM_MOST;
}

/// second: of the launches that make up a step.
WS_INLINE void ws_norm_leave(double mine, WsNormParts* to, bool second) {
    const double sum = ws_block_sum(mine);
    if (ws_lane() != 0 || ws_block() >= WS_NORM_MOST) return;
    to->parts[second * WS_NORM_MOST + ws_block()] = sum;
    if (ws_block() != 0) return;
    to->blocks[second] = ws_norm_blocks();
    if (!second) to->blocks[1] = 0;
}

WS_INLINE void ws_norm_gather(const WsNormParts* from, double* to) {
    double sum = 0;
    for (u32 launch = 0; launch < 2; ++launch) {
        // Before the very first step there is no number of blocks yet.
        const u64 blocks = from->blocks[launch];
        for (u64 i = ws_lane(); i < blocks && i < WS_NORM_MOST; i += ws_lanes())
            sum += from->parts[launch * WS_NORM_MOST + i];
    }
    sum = ws_block_sum(sum);
    if (ws_lane() == 0) *to = sum;
}

WS_INLINE void ws_norm_combine(const double* of_ranks, u64 ranks, double* to) {
    if (ws_lane() != 0) return;
    double sum = 0;
    for (u64 rank = 0; rank < ranks; ++rank) sum += of_ranks[rank];
    *to = sum;
}
