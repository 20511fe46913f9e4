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

/// On any byte. `own`: this block wrote it; else as other processors wrote it.
template <bool own> WS_INLINE u64 ws_load_any8(const u8* at) {
    if (((u64)at & 3) == 0) {
        const u32* words = (const u32*)at;
        const u32 low = own ? words[0] : ws_load4(words);
        return low | (u64)(own ? words[1] : ws_load4(words + 1)) << 32;
    }
    u64 bits = 0;
    WS_ROLLED
    for (u32 i = 0; i < 8; ++i) bits |= (u64)ws_load1(at + i) << 8 * i;
    return bits;
}

WS_INLINE void ws_store_any8(u8* at, u64 bits) {
    if (((u64)at & 3) == 0) {
        ((u32*)at)[0] = (u32)bits;
        ((u32*)at)[1] = (u32)(bits >> 32);
        return;
    }
    WS_ROLLED
    for (u32 i = 0; i < 8; ++i) at[i] = (u8)(bits >> 8 * i);
}

template <bool own> WS_INLINE Ws16 ws_load_two(const Ws16* at) { return own ? *at : ws_load16(at); }

/// Thread `thread` of `threads` changes its share of a message as it copies it; `keeps`: the place
/// that it comes from has the new values, too. Shares are those of ws_copy() where places lie on 16
/// bytes and the message is a multiple of them; else one block does it all.
template <bool own, bool keeps>
WS_INLINE void ws_change(u64 to_address, u64 from_address, u64 bytes, const WsChange& change,
                         u64 thread, u64 threads) {
    u8 *to = ws_at<u8>(to_address), *from = ws_at<u8>(from_address);
    const u64 whole = (((u64)to | (u64)from) & 15) == 0 ? bytes / 16 : 0;
    const auto store = [&](u64 i, Ws16 two) {
        two = {ws_changed(two.low, change), ws_changed(two.high, change)};
        ws_store16((Ws16*)to + i, two);
        if (keeps) ws_store16((Ws16*)from + i, two);
    };
    u64 i = thread;
    for (; i + 7 * threads < whole; i += 8 * threads) {
        Ws16 words[8];
        WS_UNROLL
        for (int k = 0; k < 8; ++k)
            words[k] = ws_load_two<own>((const Ws16*)from + i + k * threads);
        WS_UNROLL
        for (int k = 0; k < 8; ++k) store(i + k * threads, words[k]);
    }
    for (; i < whole; i += threads) store(i, ws_load_two<own>((const Ws16*)from + i));
    for (u64 at = whole * 16 + 8 * thread; at + 8 <= bytes; at += 8 * threads) {
        const u64 bits = ws_changed(ws_load_any8<own>(from + at), change);
        ws_store_any8(to + at, bits);
        if (keeps) ws_store_any8(from + at, bits);
    }
}
