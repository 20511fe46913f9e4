// Faults that tests plant between a soak's transfers and its check: what a faulty transport would
// leave in the receive buffer.
#pragma once

#include "kernels/soak.h"

WS_INLINE u64 ws_soak_mixed(u64 word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ word >> 27) * 0x94d049bb133111ebull;
    return word ^ word >> 31;
}
WS_INLINE u64 ws_soak_draw(const WsSoak* soak, u64 base, u64 iteration) {
    return ws_soak_mixed(soak->fault.seed + base + iteration * 0x9e3779b97f4a7c15ull);
}
/// Every eighth iteration at most: each fault has its room aside for itself, and finds a right
/// message in its place.
WS_INLINE bool ws_soak_hit(const WsSoak* soak, u64 base, u64 iteration) {
    const u64 every = soak->fault.every > 8 ? soak->fault.every / 8 : 1;
    return iteration % 8 == 3 && iteration >= ws_soak_places && iteration < soak->fault.end &&
           ws_soak_draw(soak, base, iteration) % every == 0;
}
WS_INLINE u64 ws_soak_lag(const WsSoak* soak, u64 base, u64 iteration) {
    return 1 + ws_soak_draw(soak, base, iteration) / 0x100000000ull % 3;
}

WS_INLINE void ws_soak_copy(const WsSoakShare& share, u64 to, u64 from, u64 bytes) {
    u8 *const target = ws_at<u8>(to), *const source = ws_at<u8>(from);
    share.each(bytes, [=](u64 i) { target[i] = source[i]; });
}
WS_INLINE void ws_soak_swap(const WsSoakShare& share, u64 one, u64 other, u64 bytes) {
    u8 *const first = ws_at<u8>(one), *const second = ws_at<u8>(other);
    share.each(bytes, [=](u64 i) {
        const u8 kept = first[i];
        first[i] = second[i];
        second[i] = kept;
    });
}

/// Between the transfers and the check, by one block. A late message has its last bytes when the
/// next one has arrived.
WS_INLINE void ws_soak_plant_here(const WsSoakShare& share, WsSoak* soak, const WsSoakPlace* places,
                                  u64 first, u64 checks) {
    const u64 kind = soak->fault.kind;
    for (u64 number = first; number < first + checks; ++number) {
        const WsSoakPlace& here = places[number];
        const WsSoakPlace& before = places[here.before];
        if (!ws_soak_came(here)) continue;
        const u64 now = here.iteration, bytes = here.bytes;
        const bool hit = ws_soak_hit(soak, here.base, now);
        const u64 tail = bytes / 2 < 64 ? (bytes + 1) / 2 : 64, end = bytes - tail;
        if (kind == ws_soak_damaged && hit && share.me == 0) {
            const u64 bit = ws_soak_mixed(ws_soak_draw(soak, here.base, now)) % (8 * bytes);
            ws_at<u8>(here.at)[bit / 8] ^= (u8)(1u << bit % 8);
        }
        if (kind == ws_soak_late) {
            if (hit) ws_soak_swap(share, here.at + end, here.aside + end, tail);
            if (now && ws_soak_hit(soak, here.base, now - 1))
                ws_soak_copy(share, before.at + end, before.aside + end, tail);
        }
        if (kind == ws_soak_lost && hit) ws_soak_copy(share, here.at, here.aside, bytes);
        // Nothing comes into that place before this turn is over.
        if ((kind == ws_soak_late || kind == ws_soak_lost) &&
            ws_soak_hit(soak, here.base, now + ws_soak_places - 1))
            ws_soak_copy(share, before.aside, before.at, bytes);
        if (kind == ws_soak_stale) {
            if (hit) ws_soak_copy(share, here.at, here.aside, bytes);
            for (u64 k = 1; k <= 3; ++k) {
                u64 later = number;
                for (u64 i = k; i < ws_soak_places; ++i) later = places[later].before;
                if (ws_soak_hit(soak, here.base, now + k) &&
                    ws_soak_lag(soak, here.base, now + k) == k)
                    ws_soak_copy(share, places[later].aside, here.at, bytes);
            }
        }
        if (hit && share.me == 0 && kind == ws_soak_unseen) --soak->checked;
        if (hit && share.me == 0 && kind == ws_soak_beyond) {
            const u64 draw = ws_soak_draw(soak, here.base, now);
            ws_at<u8>(here.at)[bytes + draw % 16] = (u8)(draw >> 8);
        }
        if (hit && share.me == 0) ++soak->fault.planted;
    }
}

WS_KERNEL ws_soak_plant(WsGate* gate, WsSoak* soak, u64 first, u64 checks) {
    ws_gate_wait_whole(gate);
    ws_soak_plant_here(ws_soak_of_block(), soak, ws_at<WsSoakPlace>(soak->places), first, checks);
}
