// Persistent kernels that combine what arrives (persistent.h, folds.h).
#pragma once

#include "kernels/persistent.h"

#define WS_FOLD_KERNEL(name, protocol, words)                                                 \
    WS_WIDE_KERNEL name(const WsProgram* program, const WsFolds* folds) {                     \
        ws_run_program<protocol, ws_no_pair, words, protocol == ws_ll, true>(program, folds); \
    }
WS_FOLD_KERNEL(ws_fold_ll, ws_ll, false)
WS_FOLD_KERNEL(ws_fold_ll_words, ws_ll, true)
WS_FOLD_KERNEL(ws_fold_stores, ws_stores, false)
WS_FOLD_KERNEL(ws_fold_pull, ws_pull, false)
WS_WIDE_KERNEL ws_exchange_warp(const WsProgram* program, const WsFolds* folds) {
    ws_run_program<ws_ll, ws_one_warp, true, true, true>(program, folds);
}
WS_WIDE_KERNEL ws_exchange_block(const WsProgram* program, const WsFolds* folds) {
    ws_run_program<ws_ll, ws_short_block, true, true, true>(program, folds);
}
WS_WIDE_KERNEL ws_exchange_grid(const WsProgram* program, const WsFolds* folds) {
    ws_run_program<ws_ll, ws_whole_grid, true, true, true>(program, folds);
}
