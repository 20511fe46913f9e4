// A plain copy by all threads of a grid.
#pragma once

#include "kernels/platform_wire.h"

/// Every thread of the grid its share, 16 bytes at a time where both ends allow it. `thread`,
/// `threads`: where not the whole grid takes part.
WS_INLINE void ws_copy(u64 to_address, u64 from_address, u64 bytes, u64 thread = ws_thread(),
                       u64 threads = ws_threads()) {
    u8* to = ws_at<u8>(to_address);
    const u8* from = ws_at<u8>(from_address);
    const u64 whole = (((u64)to | (u64)from) & 15) == 0 ? bytes / 16 : 0;
    u64 i = thread;
    for (; i + 7 * threads < whole; i += 8 * threads) {
        Ws16 words[8];
        WS_UNROLL
        for (int k = 0; k < 8; ++k) words[k] = ws_load16((const Ws16*)from + i + k * threads);
        WS_UNROLL
        for (int k = 0; k < 8; ++k) ws_store16((Ws16*)to + i + k * threads, words[k]);
    }
    for (; i < whole; i += threads) ws_store16((Ws16*)to + i, ws_load16((const Ws16*)from + i));
    for (u64 at = whole * 16 + thread; at < bytes; at += threads) to[at] = ws_load1(from + at);
}

/// The same as a kernel of its own; the addresses as numbers.
WS_WIDE_KERNEL ws_copy_bytes(u64 to, u64 from, u64 bytes) { ws_copy(to, from, bytes); }

/// By each thread of a kernel that has copied: the last block raises a word, perhaps in the host's
/// memory. `counter` is 0 before and after.
WS_INLINE void ws_signal_copied(u64 word, u64 number, u64 counter) {
    ws_sync();
    if (ws_lane() != 0) return;
    ws_fence();
    if (ws_blocks() > 1) {
        u32* count = ws_at<u32>(counter);
        if (ws_atomic_add(count, 1) != (u32)ws_blocks() - 1) return;
        *count = 0;
        ws_fence();
    }
    ws_store_flag(ws_at<u32>(word), (u32)number);
}

/// A kernel that copies and then signals.
WS_WIDE_KERNEL ws_copy_and_signal(u64 to, u64 from, u64 bytes, u64 word, u64 number, u64 counter) {
    ws_copy(to, from, bytes);
    ws_signal_copied(word, number, counter);
}
