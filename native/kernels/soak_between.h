// What checks short messages between two steps of a kernel that stays, by one block: its tables lie
// in shared memory.
#pragma once

#include "kernels/persistent.h"
#include "kernels/soak.h"

/// What is known of a place before its turn, so that a turn of right messages is a few
/// instructions: one warp runs no faster than they are fetched.
struct WsSoakQuick {
    u64* at;
    u64 base;
    u64 of_iteration;  ///< that is expected, or that is to be sent next
    u64 last;          ///< what the last word adds to the head
    u32 words;         ///< of the message
    u32 sends;
};

/// In shared memory.
struct WsSoakNear {
    WsSoak soak;
    WsSoakPlace places[WS_NEAR];
    WsSoakQuick quick[WS_NEAR];
    u32 count;
    u32 slow;   ///< messages are not whole words, or one was wrong and waits for its verdict
    u32 wrong;  ///< in this turn
};

/// Of the iterations of short.h, which are those of timed messages: what a turn needs lies in
/// registers, and it comes when the next message has been sent. Messages lie on whole words.
struct WsShortSoak {
    static constexpr u32 places = ws_soak_places;

    /// The places of one direction, which take turns.
    struct Side {
        u64* words;  ///< of the place whose turn it is
        u64 apart;   ///< bytes from one place to the next one
        u64 base, of_iteration;
        u32 first;  ///< number of the first place
        u32 turn;   ///< of its iteration, from 0

        WS_MEMBER u32 number() const { return first + 2 * turn; }
        WS_MEMBER u64 head() const { return base ^ of_iteration; }
        /// Of what comes into, or goes from, the same place next.
        WS_MEMBER u64 next_head() const {
            return base ^ (of_iteration + ws_soak_of_iteration(ws_soak_places - 1));
        }
        WS_MEMBER void go_on(WsEnd& end) {
            const bool wraps = turn + 1 == ws_soak_places;
            const u64 by = wraps ? apart - ws_soak_places * apart : apart;
            words = (u64*)((u64)words + by);
            end.at = (u8*)((u64)end.at + by);
            turn = wraps ? 0 : turn + 1;
            of_iteration += ws_soak_of_iteration(0);
        }
    };

    Side out, in;
    u32 words;
    u64 last;  ///< what the last word adds to the head

    WS_MEMBER WsShortSoak(const WsOp* ops, bool sends_first);
    /// The message in `out` has been sent; `received`: one lies in `in`.
    template <int group> WS_MEMBER void sent(WsEnd& out_end, WsEnd& in_end, bool received);
    /// Nothing is sent after the message that lies in `in`.
    template <int group> WS_MEMBER void end(WsEnd& in_end) {
        ws_join<group>();
        check<group>(in_end);
    }

  private:
    template <int group> WS_MEMBER void check(WsEnd& end);
};

struct WsSoakBetween {
    typedef WsShortSoak Short;

    static WS_MEMBER WsSoakNear& near() {
        WS_SHARED WsSoakNear near;
        return near;
    }

    static WS_MEMBER void begin(const WsProgram& program, const WsStep* steps) {
        begin(*ws_at<WsSoak>(program.soak), steps, program.step_count);
    }
    static WS_MEMBER void begin(const WsSoak& soak, const WsStep* steps, u32 step_count) {
        WsSoakNear& here = near();
        const WsSoakPlace* const all = ws_at<WsSoakPlace>(soak.places);
        if (ws_lane() == 0) {
            here.soak = soak;
            here.count = here.wrong = 0;
            for (u32 s = 0; s < step_count; ++s) {
                const u32 first = steps[s].soak_first, checks = steps[s].soak_checks;
                const u32 end = first + checks + steps[s].soak_fills;
                for (u32 n = first; n < end; ++n) {
                    here.places[n] = all[n];
                    const WsSoakElements each = ws_soak_elements(all[n]);
                    const u64 words = each.words == each.count ? each.words : 0;
                    here.quick[n] = {
                        (u64*)each.at, all[n].base,        0, ws_soak_word(0, words - 1),
                        (u32)words,    n >= first + checks};
                }
                here.count = end > here.count ? end : here.count;
            }
            renew(here);
        }
        ws_sync();
    }

    /// By one lane, where places have changed.
    static WS_MEMBER void renew(WsSoakNear& here) {
        u32 slow = 0;
        for (u32 n = 0; n < here.count; ++n) {
            const WsSoakPlace& place = here.places[n];
            WsSoakQuick& quick = here.quick[n];
            if (place.pending || !quick.words) slow = 1;
            quick.of_iteration =
                ws_soak_of_iteration(place.iteration + (quick.sends ? ws_soak_places : 0));
        }
        here.slow = slow;
    }

    WS_SELDOM void plant(u32 first, u32 checks) {
        WsSoakNear& here = near();
        ws_soak_plant_here(ws_soak_of_block(), &here.soak, here.places, first, checks);
        ws_sync();
    }

    WS_SELDOM void slowly(u32 first, u32 checks, u32 fills) {
        WsSoakNear& here = near();
        ws_soak_turn_of_block(&here.soak, here.places, first, checks, fills, &here.wrong);
        if (ws_lane() == 0) renew(here);
        ws_sync();
    }

    static WS_MEMBER void turn_after(const WsStep& step) {
        const u32 first = step.soak_first, checked = first + step.soak_checks;
        const u32 end = checked + step.soak_fills;
        if (first == end) return;
        WsSoakNear& here = near();
        if (here.soak.fault.every) plant(first, step.soak_checks);
        if (here.slow) return slowly(first, step.soak_checks, step.soak_fills);
        u64 different = 0;
        WS_ROLLED
        for (u32 n = first; n < end; ++n) {
            const WsSoakQuick& quick = here.quick[n];
            const u64 head = quick.base ^ quick.of_iteration;
            WS_ROLLED
            for (u32 i = ws_lane(); i < quick.words; i += ws_lanes()) {
                const u64 word = ws_soak_word(head, i);
                if (n < checked)
                    different |= quick.at[i] ^ word;
                else
                    quick.at[i] = word;
            }
        }
        if (different) here.wrong = 1;  // some lane may still ask for `slow`
        ws_sync();
        if (here.wrong) return slowly(first, step.soak_checks, step.soak_fills);
        WS_ROLLED
        for (u32 n = first + ws_lane(); n < end; n += ws_lanes()) {
            WsSoakQuick& quick = here.quick[n];
            here.places[n].iteration += ws_soak_places;
            quick.of_iteration += ws_soak_of_iteration(ws_soak_places - 1);
            if (n >= checked) continue;
            const u64 next = quick.base ^ quick.of_iteration;  // as ws_soak_mark
            quick.at[0] = ~next;
            quick.at[quick.words - 1] = ~(next + quick.last);
        }
        if (ws_lane() == 0) here.soak.checked += step.soak_checks;
        ws_sync();
    }

    static WS_MEMBER void end(const WsProgram& program) { end(*ws_at<WsSoak>(program.soak)); }
    static WS_MEMBER void end(WsSoak& soak) {
        ws_sync();
        const WsSoakNear& here = near();
        WsSoakPlace* const all = ws_at<WsSoakPlace>(soak.places);
        ws_for_each_lane(here.count, [&](u32 n) { all[n] = here.places[n]; });
        if (ws_lane() == 0) soak = here.soak;
    }
};

WS_MEMBER WsShortSoak::WsShortSoak(const WsOp* ops, bool sends_first) {
    const WsSoakNear& here = WsSoakBetween::near();
    const auto side = [&](bool sends) {
        const u32 op = sends == sends_first ? 0 : 1;
        const u32 first = (here.quick[0].sends != 0) == sends ? 0 : 1;
        const WsSoakPlace& place = here.places[first];
        return Side{ws_at<u64>(place.at),
                    ops[op + 2].mine - ops[op].mine,
                    place.base,
                    ws_soak_of_iteration(place.iteration),
                    first,
                    0};
    };
    out = side(true);
    in = side(false);
    words = here.quick[0].words;
    last = here.quick[0].last;
}

template <int group>
WS_MEMBER void WsShortSoak::sent(WsEnd& out_end, WsEnd& in_end, bool received) {
    ws_join<group>();  // all have sent their packets
    if (received) check<group>(in_end);
    const u64 head = out.next_head();
    for (u32 i = ws_lane(); i < words; i += ws_lanes()) out.words[i] = ws_soak_word(head, i);
    if (ws_lane() == 0) WsSoakBetween::near().places[out.number()].iteration += ws_soak_places;
    out.go_on(out_end);
}

template <int group> WS_MEMBER void WsShortSoak::check(WsEnd& end) {
    WsSoakNear& here = WsSoakBetween::near();
    if (here.soak.fault.every) WsSoakBetween::plant(in.number(), 1);
    u64 different = here.slow;
    const u64 head = in.head();
    for (u32 i = ws_lane(); i < words; i += ws_lanes())
        different |= in.words[i] ^ ws_soak_word(head, i);
    if (group != ws_one_lane) {
        if (different) here.wrong = 1;
        ws_join<group>();
        different = here.wrong;
    }
    if (different) {
        WsSoakBetween::slowly(in.number(), 1, 0);
    } else {
        const u64 next = in.next_head();  // as ws_soak_mark
        if (ws_lane() == 0) {
            in.words[0] = ~next;
            here.places[in.number()].iteration += ws_soak_places;
            ++here.soak.checked;
        }
        if (ws_lane() == (words - 1) % ws_lanes()) in.words[words - 1] = ~(next + last);
    }
    in.go_on(end);
}
