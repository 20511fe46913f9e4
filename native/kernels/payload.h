// The payload: content that depends on a seed (sender, receiver, size) and a tag (the iteration),
// so that a byte of another iteration, another rank or a poisoned buffer differs from the one
// expected.
#pragma once

#include "kernels/platform.h"

/// The 8 bytes at index i. Tags differ in every byte, so neighbouring iterations do too.
WS_INLINE u64 ws_payload_word(u64 i, u64 seed, u64 tag) {
    u64 word = seed + i * 0x9e3779b97f4a7c15ull;
    word ^= word >> 31;
    return word ^ ((tag & 0xff) * 0x0101010101010101ull);
}

WS_INLINE bool ws_aligned(const void* address) { return ((u64)address & 7) == 0; }

WS_KERNEL ws_payload_fill(u8* to, u64 bytes, u64 seed, u64 tag) {
    const u64 whole = ws_aligned(to) ? bytes / 8 : 0;
    u64* words = (u64*)to;
    ws_for_each(whole, [=](u64 i) { words[i] = ws_payload_word(i, seed, tag); });
    ws_for_each(bytes - whole * 8, [=](u64 i) {
        const u64 at = whole * 8 + i;
        to[at] = (u8)(ws_payload_word(at / 8, seed, tag) >> (8 * (at % 8)));
    });
}

/// Lowers *first to the offset of the first wrong byte, if any is wrong.
WS_KERNEL ws_payload_check(const u8* from, u64 bytes, u64 seed, u64 tag, u64* first) {
    const u64 whole = ws_aligned(from) ? bytes / 8 : 0;
    const u64* words = (const u64*)from;
    ws_for_each(whole, [=](u64 i) {
        u64 wrong = words[i] ^ ws_payload_word(i, seed, tag);
        if (wrong) {
            u64 at = i * 8;
            for (; (wrong & 0xff) == 0; wrong >>= 8) ++at;
            ws_atomic_min(first, at);
        }
    });
    ws_for_each(bytes - whole * 8, [=](u64 i) {
        const u64 at = whole * 8 + i;
        const u8 expected = (u8)(ws_payload_word(at / 8, seed, tag) >> (8 * (at % 8)));
        if (from[at] != expected) ws_atomic_min(first, at);
    });
}
