// The kernel that stays for many messages (waiting_copy.h), with one more block that checks them:
// so a turn of a soak needs no launch either.
#pragma once

#include "kernels/soak_between.h"
#include "kernels/waiting_copy.h"

WS_INLINE void ws_wait_and_check(const WsWaitingTurns& turns, u64 iterations,
                                 const WsPatience& patience) {
    WS_SHARED WsStep steps[WS_NEAR];
    WS_SHARED u32 going;
    const WsStep* const given = ws_at<WsStep>(turns.steps);
    for (u32 i = ws_lane(); i < turns.step_count; i += ws_lanes()) steps[i] = given[i];
    ws_sync();
    WsSoak& soak = *ws_at<WsSoak>(turns.soak);
    WsSoakBetween::begin(soak, steps, turns.step_count);
    u32 turn = 0, rung = 0;
    bool told_to_end = false;
    for (u64 left = iterations; left > 0 && !told_to_end; --left)
        for (u32 s = 0; s < turns.step_count; ++s) {
            ++turn;
            if (ws_lane() == 0)
                going = (int)(rung - turn) >= 0 ||
                        ws_wait_patiently(ws_at<u32>(turns.doorbell), turn, rung, patience);
            ws_sync();
            told_to_end = !going;
            if (told_to_end) break;
            WsSoakBetween::turn_after(steps[s]);
            if (ws_lane() == 0) {
                ws_release_fence();
                ws_store_flag(ws_at<u32>(turns.done), turn);
            }
        }
    WsSoakBetween::end(soak);
}

/// The last block checks.
WS_WIDE_KERNEL ws_wait_copy_and_check(const WsWaitingPeer* peers, u64 peer_count, u64 iterations,
                                      const u32* stop, u64 ticks, const WsWaitingTurns* turns) {
    const u64 copying = ws_blocks() - 1;
    if (ws_block() == copying) return ws_wait_and_check(*turns, iterations, {stop, ticks});
    ws_wait_and_copy_by(peers, peer_count, iterations, {stop, ticks}, copying);
}
