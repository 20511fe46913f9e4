// Copies by the bulk copy engine (TMA) of each multiprocessor: through its shared memory, started
// by one thread, several pieces in flight.
#pragma once

#include "kernels/copy.h"
#include "kernels/tma_engine.h"

#if WS_HAS_TMA
#define WS_TMA_STAGES 5
#define WS_TMA_AHEAD 3
#define WS_TMA_PIECE 8192

/// Pieces loaded so far; a stage's barrier changes phase with every piece.
struct WsTma {
    u32 pieces;
    WsNear room, barriers;
};

WS_INLINE void ws_tma_begin(WsTma& tma) {
    alignas(128) WS_SHARED u8 room[WS_TMA_STAGES * WS_TMA_PIECE];
    alignas(8) WS_SHARED u64 barriers[WS_TMA_STAGES];
    tma.pieces = 0;
    tma.room = ws_near(room);
    tma.barriers = ws_near(barriers);
    if (ws_lane() == 0) {
        for (int i = 0; i < WS_TMA_STAGES; ++i) ws_tma_begin_barrier(tma.barriers + 8 * i);
        ws_tma_barriers_begun();
    }
}

WS_INLINE void ws_tma_load_piece(const WsTma& tma, u32 piece, u64 from) {
    const u32 stage = piece % WS_TMA_STAGES;
    const WsNear barrier = tma.barriers + 8 * stage, to = tma.room + stage * WS_TMA_PIECE;
    ws_tma_load(to, from, WS_TMA_PIECE, barrier);
}

WS_INLINE void ws_tma_store_piece(const WsTma& tma, u32 piece, u64 to) {
    const u32 stage = piece % WS_TMA_STAGES, phase = piece / WS_TMA_STAGES & 1;
    ws_tma_wait(tma.barriers + 8 * stage, phase);
    ws_tma_store(to, tma.room + stage * WS_TMA_PIECE, WS_TMA_PIECE);
}

/// The grid copies together; what one thread started has arrived when it returns.
WS_INLINE void ws_tma_copy(WsTma& tma, u64 to, u64 from, u64 bytes) {
    const u64 pieces = ((to | from) & 15) == 0 ? bytes / WS_TMA_PIECE : 0;
    const u32 block = (u32)ws_block(), blocks = (u32)ws_blocks();
    if (ws_lane() == 0 && block < pieces) {
        const u64 step = (u64)blocks * WS_TMA_PIECE, first = (u64)block * WS_TMA_PIECE;
        const u32 mine = (u32)((pieces - block + blocks - 1) / blocks);
        const u32 base = tma.pieces;
        // What others wrote with plain stores may be read now.
        ws_tma_fence();
        for (u32 i = 0; i < mine && i < WS_TMA_AHEAD; ++i)
            ws_tma_load_piece(tma, base + i, from + first + i * step);
        for (u32 i = 0; i < mine; ++i) {
            ws_tma_store_piece(tma, base + i, to + first + i * step);
            if (i + WS_TMA_AHEAD < mine) {
                // The stage to load into next was stored from STAGES - AHEAD pieces ago.
                ws_tma_wait_read<WS_TMA_STAGES - WS_TMA_AHEAD - 1>();
                ws_tma_load_piece(tma, base + i + WS_TMA_AHEAD,
                                  from + first + (i + WS_TMA_AHEAD) * step);
            }
        }
        tma.pieces = base + mine;
        ws_tma_wait_written();
        ws_tma_fence();
    }
    u8* const rest_to = ws_at<u8>(to);
    const u8* const rest_from = ws_at<u8>(from);
    for (u64 at = pieces * WS_TMA_PIECE + ws_thread(); at < bytes; at += ws_threads())
        rest_to[at] = ws_load1(rest_from + at);
}

#else
struct WsTma {};
WS_INLINE void ws_tma_begin(WsTma&) {}
WS_INLINE void ws_tma_copy(WsTma&, u64 to, u64 from, u64 bytes) { ws_copy(to, from, bytes); }
#endif
