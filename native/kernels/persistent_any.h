// Persistent kernels of any program (persistent.h): compiled by themselves, because that takes
// seconds.
#pragma once

#include "kernels/persistent.h"

WS_PROGRAM_KERNEL(ws_any_ll, ws_ll, ws_no_pair)
WS_WIDE_KERNEL ws_any_ll_words(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, true>(program);
}
WS_WIDE_KERNEL ws_any_ll_own(const WsProgram* program) {
    ws_run_program<ws_ll, ws_no_pair, true, true>(program);
}
WS_PROGRAM_KERNEL(ws_any_stores, ws_stores, ws_no_pair)
WS_PROGRAM_KERNEL(ws_any_tma, ws_tma, ws_no_pair)
WS_PROGRAM_KERNEL(ws_any_pull, ws_pull, ws_no_pair)
WS_PROGRAM_KERNEL(ws_any_tma_pull, ws_tma_pull, ws_no_pair)
