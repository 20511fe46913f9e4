// A chain of links in memory, in random order, and a thread that follows it: the address of each
// load is what the load before brought, so no two are in flight at once.
#pragma once

#include "kernels/chase_types.h"
#include "kernels/platform_wire.h"

/// The line in which the link with this number lies: a random permutation of 0 ... count - 1, by a
/// Feistel network over the smallest square that holds them, until it hits one of them.
WS_INLINE u64 ws_chain_place(u64 number, u64 count, u64 seed) {
    u32 half = 1;
    while (((u64)1 << 2 * half) < count) ++half;
    const u64 mask = ((u64)1 << half) - 1;
    u64 place = number;
    do {
        u64 left = place >> half, right = place & mask;
        for (u64 turn = 1; turn <= 4; ++turn) {
            u64 mixed = (right + turn * seed) * 0x9E3779B97F4A7C15u;
            mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u;
            const u64 next = left ^ (mixed >> 32 & mask);
            left = right;
            right = next;
        }
        place = left << half | right;
    } while (place >= count);
    return place;
}

/// Writes a chain of `count` links, the last of which leads to the first. `reader`: the chain's
/// address as the GPU reaches it that follows it. `wrong`, for tests: a link that leaves the next
/// one out.
WS_KERNEL ws_chain_fill(u64 chain, u64 reader, u64 count, u64 seed, u64 wrong) {
    ws_for_each(count, [&](u64 number) {
        const u64 next = (number + (number == wrong ? 2 : 1)) % count;
        WsLink* link = ws_at<WsLink>(chain + WS_CHAIN_LINE * ws_chain_place(number, count, seed));
        link->next = reader + WS_CHAIN_LINE * ws_chain_place(next, count, seed);
        link->number = number;
    });
}

/// So many loads, each of which goes to memory past the first-level cache.
WS_INLINE u64 ws_follow(u64 at, u64 loads) {
    for (; loads; --loads) at = ws_load_system(&ws_at<WsLink>(at)->next);
    return at;
}

/// One thread of one block, counted round the grid, follows the chain from the link at `at`:
/// `untimed` loads, then `samples` times `each`. out[0]: the number of the link that it came to;
/// out[1]: its address; out[2 ...]: the clock before the first sample and after each one.
WS_KERNEL ws_chase(u64 at, u64 untimed, u64 each, u64 samples, u64 block, u64* out) {
    if (ws_block() != block % ws_blocks() || ws_lane() != 0) return;
    u64* stamp = out + 2;
    *stamp++ = ws_ticks();
    at = ws_follow(at, untimed);
    for (;; --samples) {
        // Never so, but the branch needs the last load's result: the clock is read after it.
        if (!at) return;
        *stamp++ = ws_ticks();
        if (!samples) break;
        at = ws_follow(at, each);
    }
    out[0] = ws_load_system(&ws_at<WsLink>(at)->number);
    out[1] = at;
}
