// Copies by the bulk copy engine of each multiprocessor (Hopper and later): through its shared
// memory, asked for by one thread, several pieces under way.
#pragma once

#include "kernels/copy.h"

#if defined(__CUDACC_RTC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WS_HAS_BULK 1
#define WS_BULK_STAGES 5
#define WS_BULK_AHEAD 3
#define WS_BULK_PIECE 8192

/// Pieces loaded so far; a stage's barrier changes phase with every piece.
struct WsBulk {
    u32 pieces;
    u32 room, barriers;  ///< addresses in shared memory
};

WS_INLINE void ws_bulk_begin(WsBulk& bulk) {
    __shared__ alignas(128) u8 room[WS_BULK_STAGES * WS_BULK_PIECE];
    __shared__ alignas(8) u64 barriers[WS_BULK_STAGES];
    bulk.pieces = 0;
    bulk.room = (u32)__cvta_generic_to_shared(room);
    bulk.barriers = (u32)__cvta_generic_to_shared(barriers);
    if (threadIdx.x == 0) {
        for (int i = 0; i < WS_BULK_STAGES; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bulk.barriers + 8 * i)
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
}

WS_INLINE void ws_bulk_load(const WsBulk& bulk, u32 piece, u64 from) {
    const u32 stage = piece % WS_BULK_STAGES;
    const u32 barrier = bulk.barriers + 8 * stage, to = bulk.room + stage * WS_BULK_PIECE;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(WS_BULK_PIECE)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(WS_BULK_PIECE), "r"(barrier)
        : "memory");
}

WS_INLINE void ws_bulk_store(const WsBulk& bulk, u32 piece, u64 to) {
    const u32 stage = piece % WS_BULK_STAGES, phase = piece / WS_BULK_STAGES & 1;
    u32 there = 0;
    while (!there)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, "
            "0, p; }"
            : "=r"(there)
            : "r"(bulk.barriers + 8 * stage), "r"(phase)
            : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                 "r"(bulk.room + stage * WS_BULK_PIECE), "r"(WS_BULK_PIECE)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// The grid copies together; what one thread asked for has arrived when it returns.
WS_INLINE void ws_bulk_copy(WsBulk& bulk, u64 to, u64 from, u64 bytes) {
    const u64 pieces = ((to | from) & 15) == 0 ? bytes / WS_BULK_PIECE : 0;
    if (threadIdx.x == 0 && blockIdx.x < pieces) {
        const u64 step = (u64)gridDim.x * WS_BULK_PIECE, first = (u64)blockIdx.x * WS_BULK_PIECE;
        const u32 mine = (u32)((pieces - blockIdx.x + gridDim.x - 1) / gridDim.x);
        const u32 base = bulk.pieces;
        // What others wrote with plain stores may be read now.
        asm volatile("fence.proxy.async;" ::: "memory");
        for (u32 i = 0; i < mine && i < WS_BULK_AHEAD; ++i)
            ws_bulk_load(bulk, base + i, from + first + i * step);
        for (u32 i = 0; i < mine; ++i) {
            ws_bulk_store(bulk, base + i, to + first + i * step);
            if (i + WS_BULK_AHEAD < mine) {
                // The stage to load into next was stored from STAGES - AHEAD pieces ago.
                asm volatile(
                    "cp.async.bulk.wait_group.read %0;" ::"n"(WS_BULK_STAGES - WS_BULK_AHEAD - 1)
                    : "memory");
                ws_bulk_load(bulk, base + i + WS_BULK_AHEAD,
                             from + first + (i + WS_BULK_AHEAD) * step);
            }
        }
        bulk.pieces = base + mine;
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    const u8* rest_from = (const u8*)from;
    for (u64 at = pieces * WS_BULK_PIECE + ws_thread(); at < bytes; at += ws_threads())
        ((u8*)to)[at] = ws_load1(rest_from + at);
}

#else
#define WS_HAS_BULK 0
struct WsBulk {};
WS_INLINE void ws_bulk_begin(WsBulk&) {}
WS_INLINE void ws_bulk_copy(WsBulk&, u64 to, u64 from, u64 bytes) { ws_copy(to, from, bytes); }
#endif
