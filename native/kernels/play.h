// Whole rounds of a program, played by the GPU itself: blocks move data between this rank's memory
// and the peers', tell them by flags, and wait for what the peers send. The ways of a message:
//  packets    payload and flag in the same 16 bytes, through a ring of slots at the receiver: no
//             fence on the way; one block
//  stores     straight into the receiver's buffer, then a fence and one flag for each block
//  bulk       the same, copied by the bulk copy engine of each multiprocessor
//  pull       the flags say that the sender is there, and the receiver's blocks fetch the message
//  bulk pull  the same by the bulk copy engines
// A rank's next step begins when all that it receives in this one lies in its buffer.
//
// Why it is right, in the terms of PTX's memory model. A flag is raised by one thread after its
// block's barrier and a fence of the whole system (ws_fence), or by a store that releases; whoever
// waits for it acquires. Barriers of a block are causality order for all its threads, so:
//  - stores, bulk: the sender's writes come before the flag, and the receiver's reads after it;
//  - pull: the flag says that the sender's earlier kernels (stream order) have filled the buffer;
//    nobody writes to it before `finished` has been told, after the last read and a fence;
//  - readies, credit: the receiver's reads of what may be overwritten come before the store that
//    releases, and the sender's next writes after its acquiring load. A relaxed store would do on
//    today's chips, whose loads are over when their values are used; the model does not say so;
//  - packets: payload and flag are one access of 16 bytes (or each half has its flag), so nothing
//    needs an order but the reuse of a slot, which credit gives.
// Words only grow; they are compared by signed difference, so none may stay 2^31 behind: the host
// raises those that no protocol in use has raised (Inbox::raise).
#pragma once

#include "kernels/pair.h"
#include "kernels/play_op.h"
#include "kernels/short.h"

/// One round of any steps; false: told to give up.
template <int method>
WS_INLINE bool ws_any_round(const WsScene& scene, const WsStep* steps, u32 count,
                            const WsMove* moves, u32* known, u32 round, WsBulk& bulk,
                            u32* stopped) {
    for (u32 s = 0; s < count; ++s) {
        const u32 sends = steps[s].sends, receives = steps[s].receives;
        if (method != ws_packets && scene.guarded && ws_lane() == 0)
            for (u32 i = sends; i < sends + receives; ++i) {
                const WsOp op = ws_op(moves[i]);
                ws_release_flag(op.readies + ws_block(), op.first + round * op.each);
            }
        bool good = true;
        for (u32 i = 0; i < sends && good; ++i)
            good = ws_send<method>(scene, ws_op(moves[i]), round, bulk,
                                   method == ws_packets ? known + i : known);
        if (sends && method != ws_packets) {
            ws_sync();
            if (ws_lane() == 0) ws_fence();
            for (u32 i = 0; i < sends && good; ++i) ws_tell<method>(ws_op(moves[i]), round);
        }
        for (u32 i = sends; i < sends + receives && good; ++i)
            good = ws_receive<method>(scene, ws_op(moves[i]), round, bulk);
        if (!good) *stopped = 1;
        // In one buffer, what comes next may not overtake what another thread still sends.
        if (receives || scene.guarded) ws_sync();
        if (*stopped) return false;
        for (u32 i = sends; i < sends + receives; ++i)
            ws_credit<method>(scene, ws_op(moves[i]), round);
        moves += sends + receives;
        if (method == ws_packets) known += sends + receives;
    }
    return true;
}

/// Every rank waits for its peers: `later` 0 before the first round, 1 after the last. It tells all
/// before it waits for any, so that no order of peers can make ranks wait in a circle.
WS_INLINE bool ws_meet(const WsPlay& play, u32 later, bool tells, u32 lane, u32 lanes,
                       const u32* stop) {
    const WsPeer* peers = ws_at<WsPeer>(play.peers);
    if (tells)
        for (u32 i = lane; i < play.peer_count; i += lanes)
            ws_store_flag(ws_at<u32>(peers[i].theirs), peers[i].start + later);
    for (u32 i = lane; i < play.peer_count; i += lanes)
        if (!ws_wait_word(ws_at<u32>(peers[i].mine), peers[i].start + later, stop)) return false;
    return true;
}

/// Any program.
template <int method>
WS_INLINE bool ws_play_rounds(const WsPlay& play, const WsScene& scene, const WsStep* steps,
                              const WsMove* moves, u32* known, WsStamps& stamps, u32* stopped) {
    WsBulk bulk;
    if (method == ws_bulk || method == ws_bulk_pull) ws_bulk_begin(bulk);
    ws_sync();
    const u64 total = play.lead_in + play.rounds_per_sample * play.samples;
    u64 next = play.lead_in;
    for (u64 round = 0;; ++round) {
        if (round == next) {
            ws_stamp<method>(stamps, round);
            if (round == total) return true;
            next += play.rounds_per_sample;
        }
        if (!ws_any_round<method>(scene, steps, play.step_count, moves, known, (u32)round, bulk,
                                  stopped))
            return false;
    }
}

/// `group`: of a pair (pair.h), or ws_no_pair for any program.
template <int method, int group> WS_INLINE void ws_play(const WsPlay* described) {
    WS_SHARED WsPlay play;
    WS_SHARED WsMove near_moves[WS_NEAR];
    WS_SHARED WsStep near_steps[WS_NEAR];
    WS_SHARED u32 known[WS_NEAR];  ///< of packets, whose transfers are all near
    WS_SHARED u32 stopped;
    if (ws_lane() == 0) {
        play = *described;
        stopped = 0;
    }
    ws_sync();
    const u32 leader = method == ws_packets ? play.place : 0;
    if (method == ws_packets && (u32)ws_block() != leader) return;
    const WsMove* moves = ws_at<WsMove>(play.moves);
    const WsStep* steps = ws_at<WsStep>(play.steps);
    if (play.move_count <= WS_NEAR && play.step_count <= WS_NEAR) {
        for (u32 i = ws_lane(); i < play.move_count; i += ws_lanes()) {
            near_moves[i] = moves[i];
            // All before the launch has been consumed: the peers would not have started otherwise.
            known[i] = moves[i].before;
        }
        for (u32 i = ws_lane(); i < play.step_count; i += ws_lanes()) near_steps[i] = steps[i];
        moves = near_moves;
        steps = near_steps;
    }
    ws_sync();
    const WsScene scene = {ws_at<u32>(play.stop), play.slots - 1, play.slot_packets, play.guarded,
                           play.slots < 4 ? 1 : play.slots / 4};
    if (!ws_meet(play, 0, (u32)ws_block() == leader, ws_lane(), ws_lanes(), scene.stop))
        stopped = 1;
    ws_sync();
    if (stopped) return;
    WsStamps stamps = {(u32)ws_block() == leader && ws_lane() == 0,
                       ws_at<u32>(play.gathered),
                       0,
                       scene.stop,
                       ws_at<u64>(play.stamps),
                       ws_at<u64>(play.progress),
                       0,
                       play.tell_after};
    bool whole;
    if (group == ws_no_pair)
        whole = ws_play_rounds<method>(play, scene, steps, moves, known, stamps, &stopped);
    else if (group == ws_whole_block)
        whole = ws_pair_rounds<method>(play, scene, steps[0].sends > 0, moves, stamps);
    else
        whole = ws_short_rounds<group>(play, scene, steps[0].sends > 0, moves, stamps);
    if (!ws_pulls(method) || !whole) return;
    // A sender's buffer is in use until its receivers have fetched the last message.
    ws_sync();
    if (ws_lane() == 0) {
        ws_fence();
        if (ws_atomic_add(ws_at<u32>(play.finished), 1) == (u32)ws_blocks() - 1)
            ws_meet(play, 1, true, 0, 1, scene.stop);
    }
}

WS_WIDE_KERNEL ws_play_packets(const WsPlay* play) { ws_play<ws_packets, ws_no_pair>(play); }
WS_WIDE_KERNEL ws_play_stores(const WsPlay* play) { ws_play<ws_stores, ws_no_pair>(play); }
WS_WIDE_KERNEL ws_play_bulk(const WsPlay* play) { ws_play<ws_bulk, ws_no_pair>(play); }
WS_WIDE_KERNEL ws_play_pull(const WsPlay* play) { ws_play<ws_pull, ws_no_pair>(play); }
WS_WIDE_KERNEL ws_play_bulk_pull(const WsPlay* play) { ws_play<ws_bulk_pull, ws_no_pair>(play); }
WS_WIDE_KERNEL ws_pair_packet(const WsPlay* play) { ws_play<ws_packets, ws_one_lane>(play); }
WS_WIDE_KERNEL ws_pair_warp(const WsPlay* play) { ws_play<ws_packets, ws_one_warp>(play); }
WS_WIDE_KERNEL ws_pair_short(const WsPlay* play) { ws_play<ws_packets, ws_short_block>(play); }
WS_WIDE_KERNEL ws_pair_packets(const WsPlay* play) { ws_play<ws_packets, ws_whole_block>(play); }
WS_WIDE_KERNEL ws_pair_stores(const WsPlay* play) { ws_play<ws_stores, ws_whole_block>(play); }
WS_WIDE_KERNEL ws_pair_bulk(const WsPlay* play) { ws_play<ws_bulk, ws_whole_block>(play); }
WS_WIDE_KERNEL ws_pair_pull(const WsPlay* play) { ws_play<ws_pull, ws_whole_block>(play); }
WS_WIDE_KERNEL ws_pair_bulk_pull(const WsPlay* play) {
    ws_play<ws_bulk_pull, ws_whole_block>(play);
}

/// [0]: 1 if there are bulk copies; [1]: the smallest step of the clock in ticks; [2]: payload of a
/// packet in bytes; [3]: threads that a block may have.
WS_KERNEL ws_play_facts(u64* facts) {
    if (ws_thread() != 0) return;
    facts[0] = WS_HAS_BULK;
    u64 least = ~0ull;
    for (int i = 0; i < 64; ++i) {
        const u64 from = ws_ticks();
        u64 to = from;
        while (to == from) to = ws_ticks();
        if (to - from < least) least = to - from;
    }
    facts[1] = least;
    facts[2] = WS_PACKET_BYTES;
    facts[3] = WS_MOST_LANES;
}

/// Lasts so many ticks: by that the host finds out whether the clock counts as fast as it is said
/// to.
WS_KERNEL ws_wait_ticks(u64 ticks) {
    const u64 from = ws_ticks();
    // A clock that stands still must not hold the kernel for ever.
    for (u64 turns = 0; ws_ticks() - from < ticks && turns < 1u << 28; ++turns) {
    }
}
