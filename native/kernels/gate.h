// A gate orders a kernel's work and the transfers of a kernel that runs beside it, by words in
// device memory: work that needs what a step receives waits for `arrived`, and the next step's
// transfers wait for `ready`. No host comes between two steps.
//
// A launch of gated work is one step. It does all its tiles, those at the edge first:
//     for each tile of the block:  if (edge) ws_gate_wait(gate);
//                                  ... compute and store ...
//                                  if (edge) ws_gate_edge_done(gate, edge_tiles);
// `ready` is the number of the step until the last edge tile is done, so tiles at the edge know it,
// and no other tile asks: most blocks of a launch take no notice of the gate. A launch all of whose
// tiles wait needs a number that lasts until its end:
//     for each other tile:         ws_gate_wait_whole(gate);
//     at the end:                  ws_gate_end(gate);
// Every lane of a block comes to each call. Without a gate (null) they do nothing.
#pragma once

#include "kernels/channel.h"

WS_INLINE void ws_gate_wait_for(const WsGate* gate, u32 step) {
    ws_wait_word(ws_at<u32>(gate->arrived), step + 1, ws_at<u32>(gate->stop));
}

WS_INLINE void ws_gate_wait(const WsGate* gate) {
    if (!gate) return;
    if (ws_lane() == 0) ws_gate_wait_for(gate, ws_load_flag(ws_at<u32>(gate->ready)));
    ws_sync();
}

WS_INLINE void ws_gate_edge_done(WsGate* gate, u32 edge_tiles) {
    if (!gate) return;
    ws_sync();
    if (ws_lane() != 0) return;
    ws_fence();
    if (ws_atomic_add(&gate->edges, 1) != edge_tiles - 1) return;
    gate->edges = 0;
    ws_fence();
    u32* const ready = ws_at<u32>(gate->ready);
    ws_release_flag(ready, ws_load_flag(ready) + 1);
}

WS_INLINE void ws_gate_wait_whole(const WsGate* gate) {
    if (!gate) return;
    if (ws_lane() == 0) ws_gate_wait_for(gate, ws_load_flag(&gate->step));
    ws_sync();
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
