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

/// `exact`: each packet carries so many whole words; ws_any_bytes: whatever its end says. Each
/// branch that falls away brings the message nearer.
enum { ws_any_bytes = -1 };

template <int group, int exact> WS_INLINE void ws_send_short(const WsEnd& end) {
    if (group != ws_one_lane && !end.active) return;
    if (exact == ws_any_bytes) {
        ws_store_packet(end.slot, ws_pack<true>(end.at, end.bytes, end.number));
        return;
    }
    WsPacket packet = {{0, 0, 0}, end.number};
    WS_UNROLL
    for (int i = 0; i < exact; ++i) packet.word[i] = ws_load4((const u32*)end.at + i);
    ws_store_packet(end.slot, packet);
}

template <int group, int exact>
WS_INLINE bool ws_receive_short(const WsScene& scene, const WsEnd& end) {
    bool good = true;
    if (group == ws_one_lane || end.active) {
        WsPacket packet = {{0, 0, 0}, 0};
        good = ws_spin(scene.stop, [&] {
            packet = ws_load_packet(end.slot);
            return packet.flag == end.number;
        });
        if (exact == ws_any_bytes) {
            ws_unpack<true>(end.at, end.bytes, packet);
        } else {
            WS_UNROLL
            for (int i = 0; i < exact; ++i) ((u32*)end.at)[i] = packet.word[i];
        }
    }
    ws_join<group>();
    return good;
}

/// What is left to do when the next packet is on its way; false: told to give up.
template <int group>
WS_INLINE bool ws_after(const WsScene& scene, WsEnd& out, WsEnd& in, bool received) {
    if (received) {
        if ((group == ws_one_lane || ws_lane() == 0) && (in.number & (scene.credit_every - 1)) == 0)
            ws_release_flag(in.op.credit, in.number);
        ++in.number;
        ws_ready<group>(scene, in);
    }
    ++out.number;
    ws_ready<group>(scene, out);
    if (!out.waits) return true;
    // The peer has taken all but the last message by now, and says so.
    u32 known = 0;
    const bool good =
        ws_wait_credit(out.op.credit, out.number - scene.last_slot - 1, scene.stop, &known);
    out.op.known = known;
    return good;
}

template <int group, int exact>
WS_INLINE bool ws_exact_rounds(const WsPlay& play, const WsScene& scene, bool sends_first,
                               WsEnd& out, WsEnd& in, WsStamps& stamps) {
    const u32 each = (u32)play.rounds_per_sample;
    u64 round = 0, samples = play.samples + 1;
    bool received = false;
    for (u32 left = (u32)play.lead_in;; left = each) {
        if (sends_first) {
            WS_ROLLED
            for (; left; --left) {
                ws_send_short<group, exact>(out);
                if (!ws_after<group>(scene, out, in, received)) return false;
                received = true;
                if (!ws_receive_short<group, exact>(scene, in)) return false;
            }
        } else {
            WS_ROLLED
            for (; left; --left) {
                if (!ws_receive_short<group, exact>(scene, in)) return false;
                ws_send_short<group, exact>(out);
                if (!ws_after<group>(scene, out, in, true)) return false;
            }
        }
        ws_stamp<ws_packets>(stamps, round);
        round += each;
        if (--samples == 0) return true;
    }
}

/// False: told to give up.
template <int group>
WS_INLINE bool ws_short_rounds(const WsPlay& play, const WsScene& scene, bool sends_first,
                               const WsMove* moves, WsStamps& stamps) {
    WsEnd out = ws_end<group>(scene, moves[sends_first ? 0 : 1]);
    WsEnd in = ws_end<group>(scene, moves[sends_first ? 1 : 0]);
    const bool alike = out.op.bytes == in.op.bytes && (out.op.bytes & 3) == 0;
    if (group == ws_one_lane && alike && out.op.bytes == 0)
        return ws_exact_rounds<group, 0>(play, scene, sends_first, out, in, stamps);
    if (group == ws_one_lane && alike && out.op.bytes == 4)
        return ws_exact_rounds<group, 1>(play, scene, sends_first, out, in, stamps);
    if (group == ws_one_lane && alike && out.op.bytes == 8)
        return ws_exact_rounds<group, 2>(play, scene, sends_first, out, in, stamps);
    return ws_exact_rounds<group, ws_any_bytes>(play, scene, sends_first, out, in, stamps);
}
