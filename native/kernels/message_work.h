// Small work on a message, done by the kernel that receives it: no launch, and no second pass where
// the receiver fetches.
#pragma once

#include "kernels/persistent_types.h"
#include "kernels/platform_wire.h"

union WsDouble {
    u64 bits;
    double value;
};

WS_INLINE u64 ws_changed(u64 bits, const WsChange& change) {
    WsDouble number, operand;
    number.bits = bits;
    operand.bits = change.operand;
    number.value += operand.value;
    return number.bits;
}

/// As others wrote it, on any byte.
WS_INLINE u64 ws_load_any8(const u8* at) {
    if (((u64)at & 3) == 0)
        return ws_load4((const u32*)at) | (u64)ws_load4((const u32*)at + 1) << 32;
    u64 bits = 0;
    WS_ROLLED
    for (u32 i = 0; i < 8; ++i) bits |= (u64)ws_load1(at + i) << 8 * i;
    return bits;
}

WS_INLINE void ws_store_any8(u8* at, u64 bits) {
    WS_ROLLED
    for (u32 i = 0; i < 8; ++i) at[i] = (u8)(bits >> 8 * i);
}

/// Thread `thread` of `threads` its share of a message, as it goes from one place to another or
/// stays where it is. Shares are those of ws_copy() where places lie on 16 bytes and the message is
/// a multiple of them; else one block does it all.
WS_INLINE void ws_change(u64 to_address, u64 from_address, u64 bytes, const WsChange& change,
                         u64 thread, u64 threads) {
    u8* to = ws_at<u8>(to_address);
    const u8* from = ws_at<u8>(from_address);
    const u64 whole = (((u64)to | (u64)from) & 15) == 0 ? bytes / 16 : 0;
    u64 i = thread;
    for (; i + 7 * threads < whole; i += 8 * threads) {
        Ws16 words[8];
        WS_UNROLL
        for (int k = 0; k < 8; ++k) words[k] = ws_load16((const Ws16*)from + i + k * threads);
        WS_UNROLL
        for (int k = 0; k < 8; ++k)
            ws_store16((Ws16*)to + i + k * threads,
                       {ws_changed(words[k].low, change), ws_changed(words[k].high, change)});
    }
    for (; i < whole; i += threads) {
        const Ws16 word = ws_load16((const Ws16*)from + i);
        ws_store16((Ws16*)to + i, {ws_changed(word.low, change), ws_changed(word.high, change)});
    }
    for (u64 at = whole * 16 + 8 * thread; at + 8 <= bytes; at += 8 * threads)
        ws_store_any8(to + at, ws_changed(ws_load_any8(from + at), change));
}
