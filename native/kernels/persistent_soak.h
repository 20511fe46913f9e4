// Persistent kernels that check short messages between two of their steps (persistent.h, soak.h).
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

struct WsSoakBetween {
    static WS_MEMBER WsSoakNear& near() {
        WS_SHARED WsSoakNear near;
        return near;
    }

    static WS_MEMBER void begin(const WsProgram& program, const WsStep* steps) {
        WsSoakNear& here = near();
        const WsSoak& soak = *ws_at<WsSoak>(program.soak);
        const WsSoakPlace* const all = ws_at<WsSoakPlace>(soak.places);
        if (ws_lane() == 0) {
            here.soak = soak;
            here.count = here.wrong = 0;
            for (u32 s = 0; s < program.step_count; ++s) {
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

    WS_SELDOM void plant(const WsStep& step) {
        WsSoakNear& here = near();
        ws_soak_plant_here(ws_soak_of_block(), &here.soak, here.places, step.soak_first,
                           step.soak_checks);
        ws_sync();
    }

    WS_SELDOM void slowly(const WsStep& step) {
        WsSoakNear& here = near();
        ws_soak_turn_of_block(&here.soak, here.places, step.soak_first, step.soak_checks,
                              step.soak_fills, &here.wrong);
        if (ws_lane() == 0) renew(here);
        ws_sync();
    }

    static WS_MEMBER void turn_after(const WsStep& step) {
        const u32 first = step.soak_first, checked = first + step.soak_checks;
        const u32 end = checked + step.soak_fills;
        if (first == end) return;
        WsSoakNear& here = near();
        if (here.soak.fault.every) plant(step);
        if (here.slow) return slowly(step);
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
        if (here.wrong) return slowly(step);
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

    static WS_MEMBER void end(const WsProgram& program, const WsStep*) {
        ws_sync();
        const WsSoakNear& here = near();
        WsSoak& soak = *ws_at<WsSoak>(program.soak);
        WsSoakPlace* const all = ws_at<WsSoakPlace>(soak.places);
        ws_for_each_lane(here.count, [&](u32 n) { all[n] = here.places[n]; });
        if (ws_lane() == 0) soak = here.soak;
    }
};

WS_WIDE_KERNEL ws_soak_ll(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, false, true, false, WsSoakBetween>(program);
}
WS_WIDE_KERNEL ws_soak_ll_words(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, true, true, false, WsSoakBetween>(program);
}
