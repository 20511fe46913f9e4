// Persistent kernels that check short messages between two of their steps (persistent.h, soak.h).
#pragma once

#include "kernels/soak_between.h"

WS_WIDE_KERNEL ws_soak_pair_lane(const WsProgram* program) {
    ws_run_program<ws_ll, ws_one_lane, false, false, false, WsSoakBetween>(program);
}
WS_WIDE_KERNEL ws_soak_pair_warp(const WsProgram* program) {
    ws_run_program<ws_ll, ws_one_warp, false, false, false, WsSoakBetween>(program);
}
WS_WIDE_KERNEL ws_soak_pair_block(const WsProgram* program) {
    ws_run_program<ws_ll, ws_short_block, false, false, false, WsSoakBetween>(program);
}
WS_WIDE_KERNEL ws_soak_ll(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, false, true, false, WsSoakBetween>(program);
}
WS_WIDE_KERNEL ws_soak_ll_words(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, true, true, false, WsSoakBetween>(program);
}
