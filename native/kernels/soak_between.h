// What checks short messages between two steps of a kernel that stays, by one block: its tables lie
// in shared memory. A single pair's messages are checked by what the lanes that move them know.
#pragma once

#include "kernels/persistent.h"
#include "kernels/soak_faults.h"

/// In shared memory.
struct WsSoakNear {
    WsSoak soak;
    WsSoakPlace places[WS_NEAR];
    u32 count;
    u32 sends_first;  ///< place 0 is one of a send
    u32 wrong;        ///< in this turn
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
            here.sends_first = steps[0].soak_checks == 0;
            for (u32 s = 0; s < step_count; ++s) {
                const u32 end = steps[s].soak_first + steps[s].soak_checks + steps[s].soak_fills;
                for (; here.count < end; ++here.count) here.places[here.count] = all[here.count];
            }
        }
        ws_sync();
    }

    WS_SELDOM void plant(u32 first, u32 checks) {
        WsSoakNear& here = near();
        ws_soak_plant_here(ws_soak_of_block(), &here.soak, here.places, first, checks);
        ws_sync();
    }

    WS_SELDOM void turn(u32 first, u32 checks, u32 fills) {
        WsSoakNear& here = near();
        ws_soak_turn_of_block(&here.soak, here.places, first, checks, fills, &here.wrong);
    }

    static WS_MEMBER void turn_after(const WsStep& step) {
        if (step.soak_checks + step.soak_fills == 0) return;
        if (near().soak.fault.every) plant(step.soak_first, step.soak_checks);
        turn(step.soak_first, step.soak_checks, step.soak_fills);
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
        const u32 first = (here.sends_first != 0) == sends ? 0 : 1;
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
    words = (u32)(here.places[0].bytes / 8);
    last = ws_soak_word(0, words - 1);
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
    u64 different = here.soak.pending;
    const u64 head = in.head();
    for (u32 i = ws_lane(); i < words; i += ws_lanes())
        different |= in.words[i] ^ ws_soak_word(head, i);
    if (group != ws_one_lane) {
        if (different) here.wrong = 1;
        ws_join<group>();
        different = here.wrong;
    }
    if (different) {
        WsSoakBetween::turn(in.number(), 1, 0);
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
