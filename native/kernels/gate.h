// A gate orders a kernel's work and the transfers of a kernel that runs beside it, by words in
// device memory: work that needs what a step receives waits for `arrived`, and the next step's
// transfers wait for `ready`. No host comes between two steps.
//
// A launch of gated work is one step. It does all its tiles, those at the edge first:
//     const u32 step = ws_gate_begin(gate);
//     for each tile of the block:  if (edge) ws_gate_wait(gate, step);
//                                  ... compute and store ...
//                                  if (edge) ws_gate_edge_done(gate, step, edge_tiles);
//     ws_gate_end(gate);
// Every lane of a block comes to each call. Without a gate (null) they do nothing.
#pragma once

#include "kernels/channel.h"

WS_INLINE u32 ws_gate_begin(const WsGate* gate) { return gate ? ws_load_flag(&gate->step) : 0; }

WS_INLINE void ws_gate_wait(const WsGate* gate, u32 step) {
    if (!gate) return;
    if (ws_lane() == 0) ws_wait_word(ws_at<u32>(gate->arrived), step + 1, ws_at<u32>(gate->stop));
    ws_sync();
}

WS_INLINE void ws_gate_edge_done(WsGate* gate, u32 step, u32 edge_tiles) {
    if (!gate) return;
    ws_sync();
    if (ws_lane() != 0) return;
    ws_fence();
    if (ws_atomic_add(&gate->edges, 1) != edge_tiles - 1) return;
    gate->edges = 0;
    ws_fence();
    ws_release_flag(ws_at<u32>(gate->ready), step + 1);
}

/// The last block makes the gate ready for the next launch.
WS_INLINE void ws_gate_end(WsGate* gate) {
    if (!gate) return;
    ws_sync();
    if (ws_lane() != 0) return;
    ws_fence();
    if (ws_atomic_add(&gate->left, 1) != (u32)ws_blocks() - 1) return;
    gate->left = 0;
    ws_release_flag(&gate->step, gate->step + 1);
}
