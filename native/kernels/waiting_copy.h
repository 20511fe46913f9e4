// A kernel that stays for many messages: the host says by a doorbell, a word in its memory, when
// each one may go. So a message needs no launch.
#pragma once

#include "kernels/copy.h"
#include "kernels/spin.h"
#include "kernels/waiting_copy_types.h"

/// By what the host ends a kernel that waits: a word that is not 0, or so many ticks without one.
struct WsPatience {
    const u32* stop;
    u64 ticks;
};

/// True once the word has reached `number`; `seen` is what it read then. A host that has died
/// writes no stop, and must not leave a kernel behind.
WS_INLINE bool ws_wait_patiently(const u32* word, u32 number, u32& seen,
                                 const WsPatience& patience) {
    const u64 began = ws_ticks();
    bool reached = false;
    ws_spin(patience.stop, [&] {
        seen = ws_load_flag(word);
        reached = (int)(seen - number) >= 0;
        return reached || ws_ticks() - began > patience.ticks;
    });
    return reached;
}

/// The block's share of message `number`, the launch's `turn`th, is in its place; the last block of
/// those that share it tells both ranks. One thread of a block calls it. False: told to end.
WS_INLINE bool ws_tell(const WsWaitingPeer& peer, u32 number, u32 turn, bool last, u64 blocks,
                       const WsPatience& patience) {
    if (blocks > 1) {
        u32* count = ws_at<u32>(peer.counters);
        u32* whole = count + 1;
        u32 seen;
        // The slowest block may not have been counted for the message before.
        if (!ws_wait_patiently(whole, turn - 1, seen, patience)) return false;
        ws_fence();
        if (ws_atomic_add(count, 1) != (u32)blocks - 1) return true;
        *count = 0;
        ws_fence();
        ws_release_flag(whole, last ? 0 : turn);
    }
    ws_release_fence();
    ws_store_flag(ws_at<u32>(peer.arrived), number);
    ws_store_flag(ws_at<u32>(peer.done), number);
    return true;
}

/// By the first `all_blocks` blocks, as many for each peer.
WS_INLINE void ws_wait_and_copy_by(const WsWaitingPeer* peers, u64 peer_count, u64 iterations,
                                   const WsPatience& patience, u64 all_blocks) {
    WS_SHARED WsWaitingPeer peer;
    WS_SHARED WsWaitingTransfer transfers[WS_MOST_WAITING_TRANSFERS];
    WS_SHARED u32 going;
    const u64 blocks = all_blocks / peer_count;
    if (ws_lane() == 0) peer = peers[ws_block() / blocks];
    ws_sync();
    const WsWaitingTransfer* given = ws_at<WsWaitingTransfer>(peer.transfers);
    for (u32 i = ws_lane(); i < peer.transfer_count; i += ws_lanes()) transfers[i] = given[i];
    const u64 thread = ws_block() % blocks * ws_lanes() + ws_lane(), threads = blocks * ws_lanes();
    const u32* doorbell = ws_at<u32>(peer.doorbell);
    // No message is done before every block has read this.
    const u32 before = ws_lane() == 0 ? ws_load_flag(ws_at<u32>(peer.done)) : 0;
    u32 turn = 0, rung = before;
    bool good = true;
    ws_sync();
    for (u64 left = iterations; left > 0; --left)
        for (u32 i = 0; i < peer.transfer_count; ++i) {
            const u32 number = before + ++turn;
            if (ws_lane() == 0)
                going = good && ((int)(rung - number) >= 0 ||
                                 ws_wait_patiently(doorbell, number, rung, patience));
            ws_sync();
            if (!going) return;
            ws_copy(transfers[i].to, transfers[i].from, transfers[i].bytes, thread, threads);
            ws_sync();
            if (ws_lane() == 0)
                good = ws_tell(peer, number, turn, left == 1 && i + 1 == peer.transfer_count,
                               blocks, patience);
        }
}

/// It ends by itself after so many iterations.
WS_WIDE_KERNEL ws_wait_and_copy(const WsWaitingPeer* peers, u64 peer_count, u64 iterations,
                                const u32* stop, u64 ticks) {
    ws_wait_and_copy_by(peers, peer_count, iterations, {stop, ticks}, ws_blocks());
}
