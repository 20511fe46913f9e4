// Persistent kernels of a pair (persistent.h, pair.h).
#pragma once

#include "kernels/persistent.h"

WS_PROGRAM_KERNEL(ws_pair_ll_lane, ws_ll, ws_one_lane)
WS_PROGRAM_KERNEL(ws_pair_ll_warp, ws_ll, ws_one_warp)
WS_PROGRAM_KERNEL(ws_pair_ll_block, ws_ll, ws_short_block)
WS_PROGRAM_KERNEL(ws_pair_ll, ws_ll, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_stores, ws_stores, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_tma, ws_tma, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_pull, ws_pull, ws_whole_block)
WS_PROGRAM_KERNEL(ws_pair_tma_pull, ws_tma_pull, ws_whole_block)
