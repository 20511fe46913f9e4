// The payload: content that depends on a seed (sender, receiver, size) and a tag (the iteration),
// so that a byte of another iteration, another rank or a poisoned buffer differs from the one
// expected.
#pragma once

#include "kernels/copy.h"
#include "kernels/pieces.h"
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

/// The 8 bytes of the content from byte `at` on.
WS_INLINE u64 ws_payload_from(u64 at, u64 seed, u64 tag) {
    const u64 low = ws_payload_word(at / 8, seed, tag), past = 8 * (at % 8);
    return past ? low >> past | ws_payload_word(at / 8 + 1, seed, tag) << (64 - past) : low;
}
WS_INLINE u8 ws_payload_byte(u64 at, u64 seed, u64 tag) {
    return (u8)(ws_payload_word(at / 8, seed, tag) >> (8 * (at % 8)));
}

/// Runs words(address, content) for every whole word of the pieces, and bytes() for what is left; a
/// piece belongs to one block of the grid.
template <class Pool, class Words, class Bytes>
WS_INLINE void ws_for_each_piece(Pool pool, const WsPiece* pieces, u64 count, Words words,
                                 Bytes bytes) {
    for (u64 number = ws_block(); number < count; number += ws_blocks()) {
        const WsPiece piece = pieces[number];
        const u64 whole = ws_aligned(pool + piece.at) ? piece.bytes / 8 : 0;
        for (u64 i = ws_lane(); i < whole; i += ws_lanes())
            words(piece.at + 8 * i, piece.content + 8 * i);
        for (u64 i = 8 * whole + ws_lane(); i < piece.bytes; i += ws_lanes())
            bytes(piece.at + i, piece.content + i);
    }
}

WS_KERNEL ws_pieces_fill(u8* pool, const WsPiece* pieces, u64 count, u64 seed, u64 tag) {
    ws_for_each_piece(
        pool, pieces, count,
        [=](u64 at, u64 from) { *(u64*)(pool + at) = ws_payload_from(from, seed, tag); },
        [=](u64 at, u64 from) { pool[at] = ws_payload_byte(from, seed, tag); });
}

/// Lowers *first to the place of the first wrong byte in the pool, if any is wrong.
WS_KERNEL ws_pieces_check(const u8* pool, const WsPiece* pieces, u64 count, u64 seed, u64 tag,
                          u64* first) {
    ws_for_each_piece(
        pool, pieces, count,
        [=](u64 at, u64 from) {
            u64 wrong = *(const u64*)(pool + at) ^ ws_payload_from(from, seed, tag);
            if (wrong) {
                u64 place = at;
                for (; (wrong & 0xff) == 0; wrong >>= 8) ++place;
                ws_atomic_min(first, place);
            }
        },
        [=](u64 at, u64 from) {
            if (pool[at] != ws_payload_byte(from, seed, tag)) ws_atomic_min(first, at);
        });
}
