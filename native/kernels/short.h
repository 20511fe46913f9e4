// The rounds of one send and one receive of short messages: no thread has more than one packet each
// way. Between the packet that comes and the one that goes lie a few instructions only.
#pragma once

#include "kernels/pair.h"

/// One thread's packet in one direction.
struct WsEnd {
    WsOp op;
    u8* at;          ///< its place in the message
    u32 bytes;       ///< of the message that it carries
    WsPacket* slot;  ///< where the next packet lies
    u32 number;      ///< its flag
    bool active;     ///< has this thread a packet at all?
    bool waits;      ///< is the ring full, as far as is known?
};

template <int group> WS_INLINE void ws_ready(const WsScene& scene, WsEnd& end) {
    end.slot = ws_slot(scene, end.op, end.number) + (group == ws_one_lane ? 0 : ws_lane());
    end.waits = (int)(end.number - scene.last_slot - 1 - end.op.known) > 0;
}

template <int group> WS_INLINE WsEnd ws_end(const WsScene& scene, const WsMove& move) {
    WsEnd end;
    end.op = ws_op(move);
    const u32 lane = group == ws_one_lane ? 0 : ws_lane();
    end.active = lane < end.op.packets;
    end.at = end.op.near_end + lane * WS_PACKET_BYTES;
    const u64 left = end.active ? end.op.bytes - lane * WS_PACKET_BYTES : 0;
    end.bytes = left < WS_PACKET_BYTES ? (u32)left : WS_PACKET_BYTES;
    end.number = end.op.first;
    ws_ready<group>(scene, end);
    return end;
}

template <int group> WS_INLINE bool ws_send_short(const WsScene& scene, WsEnd& end) {
    if (end.waits) {
        u32 known = 0;
        if (!ws_wait_credit(end.op.credit, end.number - scene.last_slot - 1, scene.stop, &known))
            return false;
        end.op.known = known;
    }
    if (group == ws_one_lane || end.active)
        ws_store_packet(end.slot, ws_pack<true>(end.at, end.bytes, end.number));
    return true;
}

template <int group> WS_INLINE bool ws_receive_short(const WsScene& scene, const WsEnd& end) {
    bool good = true;
    if (group == ws_one_lane || end.active)
        good = ws_receive_packet<true>(end.at, end.bytes, end.slot, end.number, scene.stop);
    ws_join<group>();
    return good;
}

/// What is left to do when the next packet is on its way.
template <int group>
WS_INLINE void ws_after(const WsScene& scene, WsEnd& out, WsEnd& in, bool received) {
    ++out.number;
    ws_ready<group>(scene, out);
    if (!received) return;
    if ((group == ws_one_lane || ws_lane() == 0) && (in.number & (scene.credit_every - 1)) == 0)
        ws_store_flag(in.op.credit, in.number);
    ++in.number;
    ws_ready<group>(scene, in);
}

/// False: told to give up.
template <int group>
WS_INLINE bool ws_short_rounds(const WsPlay& play, const WsScene& scene, bool sends_first,
                               const WsMove* moves, WsStamps& stamps) {
    WsEnd out = ws_end<group>(scene, moves[sends_first ? 0 : 1]);
    WsEnd in = ws_end<group>(scene, moves[sends_first ? 1 : 0]);
    const u32 each = (u32)play.rounds_per_sample;
    u64 round = 0, samples = play.samples + 1;
    bool received = false;
    for (u32 left = (u32)play.lead_in;; left = each) {
        if (sends_first) {
            for (; left; --left) {
                if (!ws_send_short<group>(scene, out)) return false;
                ws_after<group>(scene, out, in, received);
                received = true;
                if (!ws_receive_short<group>(scene, in)) return false;
            }
        } else {
            for (; left; --left) {
                if (!ws_receive_short<group>(scene, in)) return false;
                if (!ws_send_short<group>(scene, out)) return false;
                ws_after<group>(scene, out, in, true);
            }
        }
        ws_stamp<ws_packets>(stamps, round);
        round += each;
        if (--samples == 0) return true;
    }
}
