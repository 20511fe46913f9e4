// Kernels of operations that combine elements: they combine, fill and check them. By themselves,
// because those that only take elements.h would be compiled longer.
#pragma once

#include "kernels/elements.h"

/// to[i] = a[i] + b[i], or the larger, or the smaller one, or a[i]. `to` may be `a` or `b`.
WS_KERNEL ws_elements_combine(u8* to, const u8* a, const u8* b, u64 count, u64 type,
                              u64 operation) {
    ws_with_type(type, [=](auto element) {
        using Element = decltype(element);
        Element* const out = (Element*)to;
        const Element *const one = (const Element*)a, *const other = (const Element*)b;
        if (operation == ws_first)
            ws_for_each(count, [=](u64 i) { out[i] = one[i]; });
        else if (operation == ws_sum)
            ws_for_each(count,
                        [=](u64 i) { ws_round(ws_number(one[i]) + ws_number(other[i]), out[i]); });
        else
            ws_for_each(count, [=](u64 i) {
                ws_round(ws_combined(ws_number(one[i]), ws_number(other[i]), operation), out[i]);
            });
    });
}

/// What a checked element is made of.
struct WsContent {
    u64 tag;   ///< the iteration
    u64 most;  ///< values are from 1 to 2 * most
    u64 odd;   ///< where neighbours are odd and even by turns: 0: on rank 0 alone; 1: on all ranks
               ///< alike; 2: on neighbouring ranks by turns, too. ws_balanced: all ranks' sum is 0;
               ///< from bit 2 on lies the number of ranks where that is odd, else 0
};
constexpr u64 ws_balanced = 3;

/// Element i of a rank: a whole number of 1 or more, so that one that is left out is missed.
/// Neighbouring elements, and those of neighbouring iterations, differ; so do their sums (odd = 0)
/// and the greatest and least of all ranks (odd = 1).
/// Balanced ones are of either sign: those of ranks 2k and 2k + 1 cancel each other out, and a last
/// rank without a partner has 0.
WS_INLINE u64 ws_element_at(u64 i, u64 rank, const WsContent& content) {
    const bool balanced = (content.odd & 3) == ws_balanced;
    const u64 of = balanced ? rank & ~(u64)1 : rank;
    u64 word = i * 0x9e3779b97f4a7c15ull + of * 0xbf58476d1ce4e5b9ull +
               content.tag * 0x94d049bb133111ebull;
    word = (word ^ (word >> 29)) * 0xd6e8feb86659fd93ull;
    if (balanced) {
        if (rank + 1 == content.odd >> 2) return 0;
        const u64 value = 1 + (word >> 40) % content.most;
        return rank & 1 ? ~value + 1 : value;
    }
    const u64 turn = i + content.tag + (content.odd == 2 ? rank : 0);
    const u64 less = content.odd || rank == 0 ? turn & 1 : 0;
    return 2 * (1 + (word >> 40) % content.most) - less;
}

template <class Element> WS_INLINE void ws_make(u64 value, Element& to) {
    using Number = decltype(ws_number(to));
    ws_round((Number)(long long)value, to);
}

/// No result is a zero with a sign, or no number: one that is has been damaged.
template <class Element> WS_INLINE bool ws_same_bits(const Element& a, const Element& b) {
    const u8 *const one = (const u8*)&a, *const other = (const u8*)&b;
    for (u64 i = 0; i < sizeof(Element); ++i)
        if (one[i] != other[i]) return false;
    return true;
}

/// Elements first, first + 1, ... of a rank; -1, which is none of them, where `most` is 0.
WS_KERNEL ws_elements_fill(u8* to, u64 count, u64 type, u64 first, u64 rank, u64 tag, u64 most,
                           u64 odd) {
    ws_with_type(type, [=](auto element) {
        using Element = decltype(element);
        Element* const out = (Element*)to;
        ws_for_each(count, [=](u64 i) {
            ws_make(most ? ws_element_at(first + i, rank, {tag, most, odd}) : ~(u64)0, out[i]);
        });
    });
}

/// Compares with elements first, first + 1, ... of ranks rank, rank + 1, ..., combined: those of
/// rank `own` once, the others' multiplied by `times`. Lowers found[0] to the first wrong one's
/// number, and adds their count to found[1].
WS_KERNEL ws_elements_check(const u8* from, u64 count, u64 type, u64 operation, u64 first, u64 rank,
                            u64 ranks, u64 own, u64 times, u64 tag, u64 most, u64 odd, u64* found) {
    ws_with_type(type, [=](auto element) {
        using Element = decltype(element);
        const Element* const in = (const Element*)from;
        ws_for_each(count, [=](u64 i) {
            const auto given = [=](u64 of) {
                return ws_element_at(first + i, of, {tag, most, odd}) * (of == own ? 1 : times);
            };
            u64 expected = given(rank);
            for (u64 other = rank + 1; other < rank + ranks; ++other)
                expected = ws_combined(expected, given(other), operation);
            Element right;
            ws_make(expected, right);
            if (ws_same_bits(in[i], right)) return;
            ws_atomic_min(found, i);
            ws_atomic_add(found + 1, 1);
        });
    });
}
