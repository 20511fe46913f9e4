// Persistent kernels that check short messages between two of their steps (persistent.h, soak.h).
#pragma once

#include "kernels/persistent.h"
#include "kernels/soak.h"

WS_INLINE void ws_soak_turn_after(const WsProgram& program, const WsStep& step, u32* wrong) {
    ws_soak_turn_of_block(ws_at<WsSoak>(program.soak), step.soak_first, step.soak_checks,
                          step.soak_fills, wrong);
}

WS_WIDE_KERNEL ws_soak_ll(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, false, true, false, true>(program);
}
WS_WIDE_KERNEL ws_soak_ll_words(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, true, true, false, true>(program);
}
