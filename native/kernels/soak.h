// A soak: every message carries its iteration in each of its words, and is checked while the next
// transfers run, by a kernel that no host waits for.
#pragma once

#include "kernels/gate.h"
#include "kernels/soak_types.h"

/// A stale message is recognised if it is not more iterations old.
#define WS_SOAK_LAGS 15
/// Bit 0 of a look: what lay here before, so that nothing has arrived.
#define WS_SOAK_BEFORE 1ull

/// Which of the threads that share a message this one is.
struct WsSoakShare {
    u64 me, all;

    template <class Body> WS_MEMBER void each(u64 count, Body body) const {
        ws_for_each_of(me, all, count, body);
    }
};
WS_INLINE WsSoakShare ws_soak_of_grid() { return {ws_thread(), ws_threads()}; }
WS_INLINE WsSoakShare ws_soak_of_block() { return {ws_lane(), ws_lanes()}; }

/// All that the words of a message have in common. Each byte differs from that of the iterations
/// around, also in a message of one byte.
WS_INLINE u64 ws_soak_of_iteration(u64 iteration) {
    return (iteration + 1) * 0x9e3779b97f4a7c15ull;
}
WS_INLINE u64 ws_soak_head(u64 base, u64 iteration) {
    return base ^ ws_soak_of_iteration(iteration);
}
/// Word i. A sum: a processor makes several at a time, and no shift of a message fits.
WS_INLINE u64 ws_soak_word(u64 head, u64 i) { return head + i * 0xd1342543de82ef95ull; }

/// Whole words where the message lies on them, then single bytes.
struct WsSoakElements {
    u8* at;
    u64 words, count;

    /// Element i of the content.
    WS_MEMBER u64 content(u64 head, u64 i) const {
        if (i < words) return ws_soak_word(head, i);
        const u64 byte = words * 8 + (i - words);
        return ws_soak_word(head, byte / 8) >> (8 * (byte % 8)) & 0xff;
    }
    WS_MEMBER u64 load(u64 i) const { return i < words ? ((const u64*)at)[i] : at[byte_of(i)]; }
    WS_MEMBER void store(u64 i, u64 value) const {
        if (i < words)
            ((u64*)at)[i] = value;
        else
            at[byte_of(i)] = (u8)value;
    }
    /// What no content of this element is that arrives there.
    WS_MEMBER u64 inverted(u64 head, u64 i) const {
        return i < words ? ~content(head, i) : ~content(head, i) & 0xff;
    }
    WS_MEMBER u64 byte_of(u64 i) const { return i < words ? 8 * i : words * 8 + (i - words); }
};

WS_INLINE WsSoakElements ws_soak_elements(const WsSoakPlace& place) {
    u8* const at = ws_at<u8>(place.at);
    const u64 words = ((u64)at & 7) == 0 ? place.bytes / 8 : 0;
    return {at, words, words + (place.bytes - words * 8)};
}

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
WS_INLINE u64 ws_soak_differences(const WsSoakShare& share, const u64* words, u64 count, u64 head) {
    u64 different = 0;
    share.each(count, [&](u64 i) { different |= words[i] ^ ws_soak_word(head, i); });
    return different;
}
WS_INLINE void ws_soak_write(const WsSoakShare& share, u64* words, u64 count, u64 head) {
    share.each(count, [=](u64 i) { words[i] = ws_soak_word(head, i); });
}
#else
#if defined(__x86_64__)
#define WS_SOAK_WIDE __attribute__((target("avx2")))
#define WS_SOAK_HAS_WIDE (count >= 64 && __builtin_cpu_supports("avx2"))
#else
#define WS_SOAK_WIDE
#define WS_SOAK_HAS_WIDE false
#endif
#define WS_SOAK_LOOPS(attribute, name)                                                         \
    attribute static u64 name##_differences(const u64* words, u64 first, u64 last, u64 head) { \
        u64 different = 0;                                                                     \
        for (u64 i = first; i < last; ++i) different |= words[i] ^ ws_soak_word(head, i);      \
        return different;                                                                      \
    }                                                                                          \
    attribute static void name##_write(u64* words, u64 first, u64 last, u64 head) {            \
        for (u64 i = first; i < last; ++i) words[i] = ws_soak_word(head, i);                   \
    }
/// The same loops for the widest vectors that this CPU may have, and for those that it surely has.
WS_SOAK_LOOPS(WS_SOAK_WIDE, ws_soak_wide)
WS_SOAK_LOOPS(, ws_soak_plain)

/// From so many words on a part is written past the caches, which it would only empty.
#define WS_SOAK_PAST_CACHES (1u << 18)
#if defined(__x86_64__)
WS_INLINE void ws_soak_write_past(u64* words, u64 first, u64 last, u64 head) {
    for (u64 i = first; i < last; ++i)
        __builtin_ia32_movnti64((long long*)words + i, (long long)ws_soak_word(head, i));
    __builtin_ia32_sfence();
}
#else
WS_INLINE void ws_soak_write_past(u64* words, u64 first, u64 last, u64 head) {
    ws_soak_plain_write(words, first, last, head);
}
#endif

/// The part of `count` words that is this thread's.
WS_INLINE void ws_soak_part(const WsSoakShare& share, u64 count, u64* first, u64* last) {
    const u64 each = (count + share.all - 1) / share.all, begin = share.me * each;
    *first = begin < count ? begin : count;
    *last = begin + each < count ? begin + each : count;
}
WS_INLINE u64 ws_soak_differences(const WsSoakShare& share, const u64* words, u64 count, u64 head) {
    u64 first, last;
    ws_soak_part(share, count, &first, &last);
    return WS_SOAK_HAS_WIDE ? ws_soak_wide_differences(words, first, last, head)
                            : ws_soak_plain_differences(words, first, last, head);
}
WS_INLINE void ws_soak_write(const WsSoakShare& share, u64* words, u64 count, u64 head) {
    u64 first, last;
    ws_soak_part(share, count, &first, &last);
    if (last - first >= WS_SOAK_PAST_CACHES)
        ws_soak_write_past(words, first, last, head);
    else if (WS_SOAK_HAS_WIDE)
        ws_soak_wide_write(words, first, last, head);
    else
        ws_soak_plain_write(words, first, last, head);
}
#endif

WS_INLINE void ws_soak_fill(const WsSoakShare& share, const WsSoakPlace& place, u64 iteration) {
    const WsSoakElements all = ws_soak_elements(place);
    const u64 head = ws_soak_head(place.base, iteration);
    ws_soak_write(share, (u64*)all.at, all.words, head);
    share.each(all.count - all.words,
               [=](u64 i) { all.store(all.words + i, all.content(head, all.words + i)); });
}

/// Which other content this is: bit 0 what lay here before, also if nothing arrived then; bit k
/// what was sent k iterations ago.
WS_INLINE u64 ws_soak_alike(const WsSoakElements& all, u64 base, u64 iteration, u64 i, u64 value) {
    u64 alike = 0;
    for (u64 k = 0; k <= WS_SOAK_LAGS; ++k) {
        const u64 head = ws_soak_head(base, iteration - k);
        const bool sent = k && value == all.content(head, i);
        const bool before = k % ws_soak_places == 0 && (sent || value == all.inverted(head, i));
        alike |= (u64)sent << k | (before ? WS_SOAK_BEFORE : 0);
    }
    return alike;
}

WS_SELDOM void ws_soak_blame(const WsSoakShare& share, const WsSoakPlace& place, u64 iteration,
                             WsSoakLook* look) {
    const WsSoakElements all = ws_soak_elements(place);
    const u64 head = ws_soak_head(place.base, iteration);
    u64 unlike = 0;
    const auto element = [&](u64 i) {
        const u64 value = all.load(i);
        if (value == all.content(head, i)) return;
        ws_atomic_min(&look->first, i);
        ws_atomic_add(&look->wrong, 1);
        unlike |= ~ws_soak_alike(all, place.base, iteration, i, value);
    };
    share.each(all.words, element);
    share.each(all.count - all.words, [&](u64 i) { element(all.words + i); });
    ws_atomic_or(&look->unlike, unlike);
}

/// Compares each element of a message; nothing is written where all are right. Are those of this
/// thread?
WS_INLINE bool ws_soak_look(const WsSoakShare& share, const WsSoakPlace& place, u64 iteration,
                            WsSoakLook* look) {
    const WsSoakElements all = ws_soak_elements(place);
    const u64 head = ws_soak_head(place.base, iteration);
    u64 different = ws_soak_differences(share, (const u64*)all.at, all.words, head);
    share.each(all.count - all.words, [&](u64 i) {
        different |= all.load(all.words + i) ^ all.content(head, all.words + i);
    });
    if (different) ws_soak_blame(share, place, iteration, look);
    return !different;
}

/// What not all elements are, right ones too: bytes of two iterations may be equal. By one thread.
WS_SELDOM u64 ws_soak_unlike(const WsSoakPlace& place, u64 iteration) {
    const WsSoakElements all = ws_soak_elements(place);
    u64 unlike = 0;
    for (u64 i = 0; i < all.count && i < 4096; ++i)
        unlike |= ~ws_soak_alike(all, place.base, iteration, i, all.load(i));
    return unlike;
}

/// Of a message that was wrong at the first look, and `again` at the second one.
WS_INLINE u64 ws_soak_kind(const WsSoakPlace& place, u64 iteration, u64 again, u64* lag) {
    const u64 count = ws_soak_elements(place).count, right = count - place.wrong;
    if (!again) return ws_soak_late;
    if (right > count / 2) return ws_soak_damaged;
    const u64 unlike = place.unlike | (right ? ws_soak_unlike(place, iteration) : 0);
    // Where a message was marked as read, what lies there is no older one.
    for (*lag = 1; *lag <= WS_SOAK_LAGS; ++*lag)
        if (!(unlike >> *lag & 1)) return ws_soak_stale;
    *lag = 0;
    return unlike & WS_SOAK_BEFORE ? ws_soak_damaged : ws_soak_lost;
}

WS_INLINE void ws_soak_clear(WsSoakLook* look) {
    look->first = ~0ull;
    look->unlike = 0;
    look->wrong = 0;
}

/// The first and the last element of a message that has its verdict become what is no content: if
/// nothing arrives next, that is told from an old message that arrives again.
WS_INLINE void ws_soak_mark(const WsSoakPlace& place, u64 next) {
    const WsSoakElements all = ws_soak_elements(place);
    const u64 head = ws_soak_head(place.base, next);
    all.store(0, all.inverted(head, 0));
    all.store(all.count - 1, all.inverted(head, all.count - 1));
}

/// The verdict on a message that was wrong at the first look, after the second one.
WS_INLINE void ws_soak_judge(WsSoak* soak, WsSoakPlace* places, WsSoakLook* looks, u64 number) {
    WsSoakPlace& place = places[number];
    WsSoakLook* const second = looks + 2 * number + 1;
    const WsSoakElements all = ws_soak_elements(place);
    const u64 iteration = place.iteration - ws_soak_places;
    u64 lag = 0;
    const u64 kind = ws_soak_kind(place, iteration, ws_load_system(&second->wrong), &lag);
    ws_soak_clear(second);
    if (!(soak->kinds[0] | soak->kinds[1] | soak->kinds[2] | soak->kinds[3]))
        soak->first = {
            number,     iteration, all.byte_of(place.first),
            kind,       lag,       all.content(ws_soak_head(place.base, iteration), place.first),
            place.found};
    ++soak->kinds[kind];
    ++soak->checked;
    place.pending = 0;
    --soak->pending;
}

/// Was there a message at all? The turn of the last step comes first once, before its transfers.
WS_INLINE bool ws_soak_came(const WsSoakPlace& place) { return !(place.iteration >> 63); }

WS_INLINE void ws_soak_was_right(WsSoak* soak, WsSoakPlace& place) {
    ++soak->checked;
    ws_soak_mark(place, place.iteration);
}

/// The end of a look at a message, on one thread: all others have looked.
WS_INLINE void ws_soak_conclude(WsSoak* soak, WsSoakPlace* places, WsSoakLook* looks, u64 number) {
    WsSoakPlace& place = places[number];
    WsSoakPlace& before = places[place.before];
    if (before.pending) {
        ws_soak_judge(soak, places, looks, place.before);
        ws_soak_mark(before, before.iteration);
    }
    const bool came = ws_soak_came(place);
    place.iteration += ws_soak_places;
    if (!came) return;
    WsSoakLook* const look = looks + 2 * number;
    place.wrong = ws_load_system(&look->wrong);
    if (!place.wrong) return ws_soak_was_right(soak, place);
    // It has its verdict once the next message is there: by then a late one has arrived.
    place.pending = 1;
    ++soak->pending;
    place.first = ws_load_system(&look->first);
    place.unlike = ws_load_system(&look->unlike);
    place.found = ws_soak_elements(place).load(place.first);
    ws_soak_clear(look);
}

/// Looks at what each of `checks` transfers has received, and refills what each of `fills` has
/// sent: their places follow each other from number `first` on. Is all that this thread sees right?
WS_INLINE bool ws_soak_pass(const WsSoakShare& share, const WsSoak* soak, const WsSoakPlace* places,
                            u64 first, u64 checks, u64 fills) {
    WsSoakLook* const looks = ws_at<WsSoakLook>(soak->looks);
    bool right = true;
    for (u64 number = first; number < first + checks; ++number) {
        const WsSoakPlace& place = places[number];
        if (ws_soak_came(place))
            right = ws_soak_look(share, place, place.iteration, looks + 2 * number) && right;
        const WsSoakPlace& before = places[place.before];
        if (!before.pending) continue;
        ws_soak_look(share, before, before.iteration - ws_soak_places,
                     looks + 2 * place.before + 1);
        right = false;
    }
    for (u64 number = first + checks; number < first + checks + fills; ++number)
        ws_soak_fill(share, places[number], places[number].iteration + ws_soak_places);
    return right;
}

/// By one thread, when all have passed. `right`: all was.
WS_INLINE void ws_soak_end_turn(WsSoak* soak, WsSoakPlace* places, u64 first, u64 checks, u64 fills,
                                bool right) {
    for (u64 number = first; number < first + checks; ++number) {
        if (!right) {
            ws_soak_conclude(soak, places, ws_at<WsSoakLook>(soak->looks), number);
            continue;
        }
        WsSoakPlace& place = places[number];
        const bool came = ws_soak_came(place);
        place.iteration += ws_soak_places;
        if (came) ws_soak_was_right(soak, place);
    }
    for (u64 i = 0; i < fills; ++i) places[first + checks + i].iteration += ws_soak_places;
}

/// The turn that follows a step.
WS_KERNEL ws_soak_turn(WsGate* gate, WsSoak* soak, u64 first, u64 checks, u64 fills) {
    ws_gate_wait_whole(gate);
    WsSoakPlace* const places = ws_at<WsSoakPlace>(soak->places);
    ws_soak_pass(ws_soak_of_grid(), soak, places, first, checks, fills);
    ws_sync();
    if (ws_lane() == 0) {
        // What one block has written it sees itself; others see it when the launch has ended.
        const bool alone = ws_blocks() == 1;
        if (!alone) ws_fence();
        if (alone || ws_atomic_add(&soak->left, 1) == (u32)ws_blocks() - 1) {
            if (!alone) ws_fence();
            soak->left = 0;
            ws_soak_end_turn(soak, places, first, checks, fills, false);
            if (!alone) ws_fence();
        }
    }
    ws_gate_edge_done(gate, (u32)ws_blocks());
    ws_gate_end(gate);
}

/// After the last message, by one block: those that were wrong at the first look are looked at
/// again, so that every message has its verdict.
WS_KERNEL ws_soak_end(WsSoak* soak, u64 count) {
    WsSoakPlace* const places = ws_at<WsSoakPlace>(soak->places);
    WsSoakLook* const looks = ws_at<WsSoakLook>(soak->looks);
    for (u64 number = 0; number < count; ++number) {
        const WsSoakPlace& place = places[number];
        if (place.pending)
            ws_soak_look(ws_soak_of_block(), place, place.iteration - ws_soak_places,
                         looks + 2 * number + 1);
        ws_sync();
        if (ws_lane() == 0 && place.pending) ws_soak_judge(soak, places, looks, number);
        ws_sync();
    }
}

/// Before the first iteration: every place of a send gets its content, and every other one what is
/// none.
WS_KERNEL ws_soak_start(WsSoak* soak, u64 number, u64 sends) {
    WsSoakPlace* const places = ws_at<WsSoakPlace>(soak->places);
    const WsSoakPlace& place = places[number];
    if (sends) return ws_soak_fill(ws_soak_of_grid(), place, place.iteration);
    const WsSoakElements all = ws_soak_elements(place);
    const u64 next = ws_soak_came(place) ? place.iteration : place.iteration + ws_soak_places;
    const u64 head = ws_soak_head(place.base, next);
    ws_soak_of_grid().each(all.count, [=](u64 i) { all.store(i, all.inverted(head, i)); });
}

/// The turn that follows a step, by one block. `wrong` lies in shared memory, and is 0 before and
/// after.
WS_INLINE void ws_soak_turn_of_block(WsSoak* soak, WsSoakPlace* places, u64 first, u64 checks,
                                     u64 fills, u32* wrong) {
    ws_sync();  // all have read `wrong`
    if (!ws_soak_pass(ws_soak_of_block(), soak, places, first, checks, fills)) *wrong = 1;
    ws_sync();
    if (ws_lane() == 0) {
        ws_soak_end_turn(soak, places, first, checks, fills, *wrong == 0);
        *wrong = 0;
    }
    ws_sync();
}
