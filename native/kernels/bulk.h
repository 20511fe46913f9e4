// Copies by the bulk copy engine of each multiprocessor: through its shared memory, asked for by
// one thread, several pieces under way.
#pragma once

#include "kernels/bulk_engine.h"
#include "kernels/copy.h"

#if WS_HAS_BULK
#define WS_BULK_STAGES 5
#define WS_BULK_AHEAD 3
#define WS_BULK_PIECE 8192

/// Pieces loaded so far; a stage's barrier changes phase with every piece.
struct WsBulk {
    u32 pieces;
    WsNear room, barriers;
};

WS_INLINE void ws_bulk_begin(WsBulk& bulk) {
    alignas(128) WS_SHARED u8 room[WS_BULK_STAGES * WS_BULK_PIECE];
    alignas(8) WS_SHARED u64 barriers[WS_BULK_STAGES];
    bulk.pieces = 0;
    bulk.room = ws_near(room);
    bulk.barriers = ws_near(barriers);
    if (ws_lane() == 0) {
        for (int i = 0; i < WS_BULK_STAGES; ++i) ws_bulk_begin_barrier(bulk.barriers + 8 * i);
        ws_bulk_barriers_begun();
    }
}

WS_INLINE void ws_bulk_load_piece(const WsBulk& bulk, u32 piece, u64 from) {
    const u32 stage = piece % WS_BULK_STAGES;
    const WsNear barrier = bulk.barriers + 8 * stage, to = bulk.room + stage * WS_BULK_PIECE;
    ws_bulk_load(to, from, WS_BULK_PIECE, barrier);
}

WS_INLINE void ws_bulk_store_piece(const WsBulk& bulk, u32 piece, u64 to) {
    const u32 stage = piece % WS_BULK_STAGES, phase = piece / WS_BULK_STAGES & 1;
    ws_bulk_wait(bulk.barriers + 8 * stage, phase);
    ws_bulk_store(to, bulk.room + stage * WS_BULK_PIECE, WS_BULK_PIECE);
}

/// The grid copies together; what one thread asked for has arrived when it returns.
WS_INLINE void ws_bulk_copy(WsBulk& bulk, u64 to, u64 from, u64 bytes) {
    const u64 pieces = ((to | from) & 15) == 0 ? bytes / WS_BULK_PIECE : 0;
    const u32 block = (u32)ws_block(), blocks = (u32)ws_blocks();
    if (ws_lane() == 0 && block < pieces) {
        const u64 step = (u64)blocks * WS_BULK_PIECE, first = (u64)block * WS_BULK_PIECE;
        const u32 mine = (u32)((pieces - block + blocks - 1) / blocks);
        const u32 base = bulk.pieces;
        // What others wrote with plain stores may be read now.
        ws_bulk_fence();
        for (u32 i = 0; i < mine && i < WS_BULK_AHEAD; ++i)
            ws_bulk_load_piece(bulk, base + i, from + first + i * step);
        for (u32 i = 0; i < mine; ++i) {
            ws_bulk_store_piece(bulk, base + i, to + first + i * step);
            if (i + WS_BULK_AHEAD < mine) {
                // The stage to load into next was stored from STAGES - AHEAD pieces ago.
                ws_bulk_wait_read<WS_BULK_STAGES - WS_BULK_AHEAD - 1>();
                ws_bulk_load_piece(bulk, base + i + WS_BULK_AHEAD,
                                   from + first + (i + WS_BULK_AHEAD) * step);
            }
        }
        bulk.pieces = base + mine;
        ws_bulk_wait_written();
        ws_bulk_fence();
    }
    u8* const rest_to = ws_at<u8>(to);
    const u8* const rest_from = ws_at<u8>(from);
    for (u64 at = pieces * WS_BULK_PIECE + ws_thread(); at < bytes; at += ws_threads())
        rest_to[at] = ws_load1(rest_from + at);
}

#else
struct WsBulk {};
WS_INLINE void ws_bulk_begin(WsBulk&) {}
WS_INLINE void ws_bulk_copy(WsBulk&, u64 to, u64 from, u64 bytes) { ws_copy(to, from, bytes); }
#endif
