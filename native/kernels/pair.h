// The rounds of one send and one receive, the commonest program, with all that can be done before
// or after kept off the way of the message: tables stay in registers, and what the next message
// needs is made ready while this one is under way.
#pragma once

#include "kernels/play_op.h"

/// How many threads share a message, and so what it takes to know that all have their part.
enum WsGroup { ws_no_pair, ws_one_lane, ws_one_warp, ws_short_block, ws_whole_block };

template <int group> WS_INLINE void ws_join() {
    if (group == ws_one_warp) ws_sync_warp();
    if (group >= ws_short_block) ws_sync();
}

/// One direction of the pair: the next message's number and its slot in the ring of packets.
struct WsWay {
    WsOp op;
    u32 number;
    WsPacket* slot;
};

WS_INLINE WsWay ws_way(const WsScene& scene, const WsMove& move) {
    WsWay way = {ws_op(move), 0, nullptr};
    way.number = way.op.first;
    way.slot = ws_slot(scene, way.op, way.number);
    return way;
}

WS_INLINE void ws_advance(const WsScene& scene, WsWay& way) {
    ++way.number;
    way.slot = ws_slot(scene, way.op, way.number);
}

template <int method> WS_INLINE bool ws_pair_send(const WsScene& scene, WsWay& way, WsBulk& bulk) {
    WsOp& op = way.op;
    if (method == ws_packets) {
        const u32 needed = way.number - scene.last_slot - 1;
        if ((int)(needed - op.known) > 0) {
            u32 known = 0;
            if (!ws_wait_credit(op.credit, needed, scene.stop, &known)) return false;
            op.known = known;
        }
        ws_send_packets<true>(way.slot, op.near_end, op.bytes, op.packets, way.number);
        return true;
    }
    if (!ws_pulls(method)) ws_transport<method>(bulk, op.theirs, op.mine, op.bytes);
    ws_sync();
    if (ws_lane() == 0) {
        ws_fence();
        ws_store_flag(op.flags + ws_block(), way.number);
    }
    return true;
}

template <int method>
WS_INLINE bool ws_pair_receive(const WsScene& scene, const WsWay& way, WsBulk& bulk) {
    const WsOp& op = way.op;
    bool good;
    if (method == ws_packets) {
        good = ws_receive_packets<true>(op.near_end, op.bytes, way.slot, op.packets, way.number,
                                        scene.stop);
    } else {
        good = ws_wait_words(op.flags, way.number, scene.stop);
        if (ws_pulls(method)) {
            ws_sync();
            if (good) ws_transport<method>(bulk, op.mine, op.theirs, op.bytes);
        }
    }
    ws_join<ws_whole_block>();
    return good;
}

/// What is left to do when the next message is on its way.
template <int method> WS_INLINE void ws_received(const WsScene& scene, WsWay& way) {
    if (method == ws_packets && ws_lane() == 0 && (way.number & (scene.credit_every - 1)) == 0)
        ws_release_flag(way.op.credit, way.number);
    ws_advance(scene, way);
}

/// False: told to give up.
template <int method>
WS_INLINE bool ws_pair_rounds(const WsPlay& play, const WsScene& scene, bool sends_first,
                              const WsMove* moves, WsStamps& stamps) {
    WsBulk bulk;
    if (method == ws_bulk || method == ws_bulk_pull) ws_bulk_begin(bulk);
    ws_sync();
    WsWay out = ws_way(scene, moves[sends_first ? 0 : 1]);
    WsWay in = ws_way(scene, moves[sends_first ? 1 : 0]);
    u64 round = 0;
    u64 samples = play.samples + 1;
    u32 left = (u32)play.lead_in;
    bool first = true;
    for (;;) {
        for (; left; --left, ++round) {
            if (sends_first) {
                if (!ws_pair_send<method>(scene, out, bulk)) return false;
                if (!first) ws_received<method>(scene, in);
                first = false;
                ws_advance(scene, out);
                if (!ws_pair_receive<method>(scene, in, bulk)) return false;
            } else {
                if (!ws_pair_receive<method>(scene, in, bulk)) return false;
                if (!ws_pair_send<method>(scene, out, bulk)) return false;
                ws_received<method>(scene, in);
                ws_advance(scene, out);
            }
        }
        ws_stamp<method>(stamps, round);
        if (--samples == 0) return true;
        left = (u32)play.rounds_per_sample;
    }
}
