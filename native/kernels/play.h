// Whole rounds of a program, played by the GPU itself: blocks move data between this rank's memory
// and the peers', tell them by flags, and wait for what the peers send. The ways of a message:
//  packets    payload and flag in the same 16 bytes, through a ring of slots at the receiver: no
//             fence on the way; one block
//  stores     straight into the receiver's buffer, then a fence and one flag for each block
//  bulk       the same, copied by the bulk copy engine of each multiprocessor
//  pull       the flags say that the sender is there, and the receiver's blocks fetch the message
//  bulk pull  the same by the bulk copy engines
// A rank's next step begins when all that it receives in this one lies in its buffer.
#pragma once

#include "kernels/bulk.h"
#include "kernels/packets.h"
#include "kernels/play_types.h"

/// False: told to give up.
WS_INLINE bool ws_wait_word(const u32* at, u32 value, const u32* stop) {
    u32 tries = 0;
    while ((int)(ws_load_flag(at) - value) < 0)
        if (ws_give_up(tries, stop)) return false;
    return true;
}

/// The words that every block of the peer raises.
WS_INLINE bool ws_wait_words(const u32* words, u32 value, const u32* stop) {
    for (u32 i = ws_lane(); i < (u32)ws_blocks(); i += ws_lanes())
        if (!ws_wait_word(words + i, value, stop)) return false;
    return true;
}

WS_INLINE constexpr bool ws_pulls(int method) {
    return method == ws_pull || method == ws_bulk_pull;
}

template <int method> WS_INLINE void ws_transport(WsBulk& bulk, u64 to, u64 from, u64 bytes) {
    if (method == ws_bulk || method == ws_bulk_pull)
        ws_bulk_copy(bulk, to, from, bytes);
    else
        ws_copy(to, from, bytes);
}

/// A transfer with its addresses as the kernel follows them; kept in registers where it can be.
struct WsOp {
    u64 mine, theirs, bytes;
    u8* near_end;
    WsPacket* ring;
    u32 *flags, *readies, *credit;
    u32 first, each, packets, known;
};

WS_INLINE WsOp ws_op(const WsMove& move) {
    WsOp op;
    op.mine = move.mine;
    op.theirs = move.theirs;
    op.bytes = move.bytes;
    op.near_end = ws_at<u8>(move.mine);
    op.ring = ws_at<WsPacket>(move.box);
    op.flags = ws_at<u32>(move.flags);
    op.readies = ws_at<u32>(move.readies);
    op.credit = ws_at<u32>(move.credit);
    op.first = move.before + move.place;
    op.each = move.each;
    op.packets = move.packets;
    // All before the launch has been consumed: the peers would not have started otherwise.
    op.known = move.before;
    return op;
}

/// What all operations of a launch need.
struct WsScene {
    const u32* stop;
    u32 last_slot, slot_packets, guarded;
    u32 credit_every;
};

WS_INLINE WsPacket* ws_slot(const WsScene& scene, const WsOp& op, u32 number) {
    return op.ring + (u64)(number & scene.last_slot) * scene.slot_packets;
}

template <int method>
WS_INLINE bool ws_send(const WsScene& scene, WsOp& op, u32 round, WsBulk& bulk) {
    const u32 number = op.first + round * op.each;
    if (method == ws_packets) {
        const u32 needed = number - scene.last_slot - 1;
        // The word lies with this rank, but reading it takes time: only when it must be.
        if ((int)(needed - op.known) > 0) {
            if (!ws_wait_word(op.credit, needed, scene.stop)) return false;
            op.known = ws_load_flag(op.credit);
        }
        ws_send_packets(ws_slot(scene, op, number), op.near_end, op.bytes, op.packets, number);
    } else if (!ws_pulls(method)) {
        if (scene.guarded) {
            if (!ws_wait_words(op.readies, number, scene.stop)) return false;
            ws_sync();
        }
        ws_transport<method>(bulk, op.theirs, op.mine, op.bytes);
    }
    return true;
}

/// After a step's sends, and a ws_sync(): the receivers may know.
template <int method> WS_INLINE void ws_tell(const WsOp& op, u32 round) {
    if (method != ws_packets && ws_lane() == 0)
        ws_store_flag(op.flags + ws_block(), op.first + round * op.each);
}

template <int method>
WS_INLINE bool ws_receive(const WsScene& scene, const WsOp& op, u32 round, WsBulk& bulk) {
    const u32 number = op.first + round * op.each;
    if (method == ws_packets)
        return ws_receive_packets(op.near_end, op.bytes, ws_slot(scene, op, number), op.packets,
                                  number, scene.stop);
    if (!ws_wait_words(op.flags, number, scene.stop)) return false;
    if (ws_pulls(method)) {
        ws_sync();
        ws_transport<method>(bulk, op.mine, op.theirs, op.bytes);
    }
    return true;
}

/// After a step's receives, and a ws_sync(): slots are free again. Now and then is soon enough.
template <int method> WS_INLINE void ws_credit(const WsScene& scene, const WsOp& op, u32 round) {
    const u32 number = op.first + round * op.each;
    if (method == ws_packets && ws_lane() == 0 && (number & (scene.credit_every - 1)) == 0)
        ws_store_flag(op.credit, number);
}

/// One round of any steps; false: told to give up.
template <int method>
WS_INLINE bool ws_any_round(const WsScene& scene, const WsStep* steps, u32 count,
                            const WsMove* moves, u32 round, WsBulk& bulk, u32* stopped) {
    for (u32 s = 0; s < count; ++s) {
        const u32 sends = steps[s].sends, receives = steps[s].receives;
        if (scene.guarded && ws_lane() == 0)
            for (u32 i = sends; i < sends + receives; ++i) {
                const WsOp op = ws_op(moves[i]);
                ws_store_flag(op.readies + ws_block(), op.first + round * op.each);
            }
        bool good = true;
        for (u32 i = 0; i < sends && good; ++i) {
            WsOp op = ws_op(moves[i]);
            good = ws_send<method>(scene, op, round, bulk);
        }
        if (sends && method != ws_packets) {
            ws_sync();
            if (ws_lane() == 0) ws_fence();
            for (u32 i = 0; i < sends && good; ++i) ws_tell<method>(ws_op(moves[i]), round);
        }
        for (u32 i = sends; i < sends + receives && good; ++i)
            good = ws_receive<method>(scene, ws_op(moves[i]), round, bulk);
        if (!good) *stopped = 1;
        if (receives) ws_sync();
        if (*stopped) return false;
        for (u32 i = sends; i < sends + receives; ++i)
            ws_credit<method>(scene, ws_op(moves[i]), round);
        moves += sends + receives;
    }
    return true;
}

/// One transfer that is a step of its own, or half of an exchange.
template <int method>
WS_INLINE bool ws_one(const WsScene& scene, WsOp& op, bool sends, u32 round, WsBulk& bulk,
                      u32* stopped) {
    if (sends) {
        if (!ws_send<method>(scene, op, round, bulk)) *stopped = 1;
        if (method != ws_packets) {
            ws_sync();
            if (ws_lane() == 0) ws_fence();
            ws_tell<method>(op, round);
        }
        return *stopped == 0;
    }
    if (!ws_receive<method>(scene, op, round, bulk)) *stopped = 1;
    ws_sync();
    ws_credit<method>(scene, op, round);
    return *stopped == 0;
}

/// Before the first and after the last round: every rank waits for its peers.
WS_INLINE bool ws_meet(const WsPlay& play, u32 value, bool tells, const u32* stop) {
    const WsPeer* peers = ws_at<WsPeer>(play.peers);
    for (u32 i = ws_lane(); i < play.peer_count; i += ws_lanes()) {
        if (tells) ws_store_flag(ws_at<u32>(peers[i].theirs), value);
        if (!ws_wait_word(ws_at<u32>(peers[i].mine), value, stop)) return false;
    }
    return true;
}

template <int method> WS_INLINE void ws_play(const WsPlay* described) {
    WS_SHARED WsPlay play;
    WS_SHARED WsMove near_moves[WS_NEAR];
    WS_SHARED WsStep near_steps[WS_NEAR];
    WS_SHARED u32 stopped;
    if (ws_lane() == 0) {
        play = *described;
        stopped = 0;
    }
    ws_sync();
    const WsMove* moves = ws_at<WsMove>(play.moves);
    const WsStep* steps = ws_at<WsStep>(play.steps);
    if (play.move_count <= WS_NEAR && play.step_count <= WS_NEAR) {
        for (u32 i = ws_lane(); i < play.move_count; i += ws_lanes()) near_moves[i] = moves[i];
        for (u32 i = ws_lane(); i < play.step_count; i += ws_lanes()) near_steps[i] = steps[i];
        moves = near_moves;
        steps = near_steps;
    }
    ws_sync();
    const WsScene scene = {ws_at<u32>(play.stop), play.slots - 1, play.slot_packets, play.guarded,
                           play.slots < 4 ? 1 : play.slots / 4};
    if (!ws_meet(play, play.launch, ws_block() == 0, scene.stop)) stopped = 1;
    WsBulk bulk;
    if (method == ws_bulk || method == ws_bulk_pull) ws_bulk_begin(bulk);
    // Two transfers, a send first or a receive first, are kept in registers: each read of a
    // table would be on the way of the message.
    const bool few = play.move_count == 2 && !play.guarded && steps[0].sends + steps[0].receives &&
                     (play.step_count == 2 ? steps[0].sends + steps[0].receives == 1
                                           : steps[0].sends == 1 && steps[0].receives == 1);
    const bool sends_first = steps[0].sends > 0;
    const bool sends_second = play.step_count == 2 && steps[1].sends > 0;
    WsOp first = ws_op(moves[0]), second = ws_op(moves[few ? 1 : 0]);
    ws_sync();
    const bool leads = ws_thread() == 0;
    u64* stamps = ws_at<u64>(play.stamps);
    const u64 total = play.lead_in + play.rounds_per_sample * play.samples;
    const u64 rounds_per_sample = play.rounds_per_sample;
    u64 next = play.lead_in, told = 0;
    for (u64 round = 0; !stopped; ++round) {
        if (round == next) {
            if (leads) {
                const u64 time = ws_nanoseconds();
                *stamps++ = time;
                // Rarely, for a write to the host holds up the next fence.
                if (time - told > 20000000) {
                    told = time;
                    ws_store_stamp(ws_at<u64>(play.progress), round);
                }
            }
            if (round == total) break;
            next += rounds_per_sample;
        }
        if (few) {
            if (!ws_one<method>(scene, first, sends_first, (u32)round, bulk, &stopped)) return;
            if (!ws_one<method>(scene, second, sends_second, (u32)round, bulk, &stopped)) return;
        } else if (!ws_any_round<method>(scene, steps, play.step_count, moves, (u32)round, bulk,
                                         &stopped)) {
            return;
        }
    }
    if (!ws_pulls(method) || stopped) return;
    // A sender's buffer is in use until its receivers have fetched the last message.
    ws_sync();
    if (ws_lane() == 0) {
        ws_fence();
        if (ws_atomic_add(ws_at<u32>(play.finished), 1) == (u32)ws_blocks() - 1) {
            WsPeer* peers = ws_at<WsPeer>(play.peers);
            for (u32 i = 0; i < play.peer_count; ++i)
                ws_store_flag(ws_at<u32>(peers[i].theirs), play.launch + 1);
            for (u32 i = 0; i < play.peer_count; ++i)
                ws_wait_word(ws_at<u32>(peers[i].mine), play.launch + 1, scene.stop);
        }
    }
}

WS_WIDE_KERNEL ws_play_packets(const WsPlay* play) { ws_play<ws_packets>(play); }
WS_WIDE_KERNEL ws_play_stores(const WsPlay* play) { ws_play<ws_stores>(play); }
WS_WIDE_KERNEL ws_play_bulk(const WsPlay* play) { ws_play<ws_bulk>(play); }
WS_WIDE_KERNEL ws_play_pull(const WsPlay* play) { ws_play<ws_pull>(play); }
WS_WIDE_KERNEL ws_play_bulk_pull(const WsPlay* play) { ws_play<ws_bulk_pull>(play); }

/// [0]: 1 if there are bulk copies; [1]: the smallest step of the clock in ns; [2]: payload of a
/// packet in bytes.
WS_KERNEL ws_play_facts(u64* facts) {
    if (ws_thread() != 0) return;
    facts[0] = WS_HAS_BULK;
    u64 least = ~0ull;
    for (int i = 0; i < 64; ++i) {
        const u64 from = ws_nanoseconds();
        u64 to = from;
        while (to == from) to = ws_nanoseconds();
        if (to - from < least) least = to - from;
    }
    facts[1] = least;
    facts[2] = WS_PACKET_BYTES;
}
