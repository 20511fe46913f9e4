// The iterations of one send and one receive of short LL messages: no thread has more than one
// packet in each direction. Between the packet that comes and the one that goes lie a few
// instructions only.
#pragma once

#include "kernels/pair.h"

/// The number of this thread among those that share the message.
template <int group> WS_INLINE u32 ws_member() {
    return group == ws_one_lane ? 0 : group == ws_whole_grid ? (u32)ws_thread() : ws_lane();
}

/// All threads of a warp or a block that share the message have their part of it.
template <int group> WS_INLINE void ws_join() {
    if (group == ws_one_warp) ws_sync_warp();
    if (group == ws_short_block) ws_sync();
}

/// One thread's packet in one direction. The channel's slots are those of this very packet.
struct WsEnd {
    WsChannel channel;
    u8* at;       ///< its place in the message
    u32 bytes;    ///< of the message that it holds
    bool active;  ///< has this thread a packet at all?
};

template <int group, u32 payload = WS_PACKET_BYTES>
WS_INLINE WsEnd ws_end(const WsCommon& common, const WsOp& op) {
    WsEnd end;
    end.channel = ws_channel(common, op, 0);
    const u32 lane = ws_member<group>();
    end.channel.ring += lane;
    end.channel.slot += lane;
    end.active = lane < op.packets;
    end.at = end.channel.buffer + lane * payload;
    end.bytes = end.active ? ws_rest<payload>(op.bytes, lane * payload) : 0;
    return end;
}

/// `exact`: each packet holds so many whole words, or one or two bytes; ws_any_bytes: whatever its
/// end says. Fewer branches shorten the critical path.
enum { ws_any_bytes = -1, ws_one_byte = -2, ws_two_bytes = -3 };
template <int words> struct WsExact {
    static constexpr int value = words;
};

template <int group, int exact> WS_INLINE void ws_send_short(const WsEnd& end) {
    if (group != ws_one_lane && !end.active) return;
    if (exact == ws_any_bytes) {
        ws_store_packet(end.channel.slot, ws_pack<true>(end.at, end.bytes, end.channel.number));
        return;
    }
    WsPacket packet = {{0, 0, 0}, end.channel.number};
    if (exact <= ws_one_byte) packet.word[0] = ws_load1(end.at);
    if (exact == ws_two_bytes) packet.word[0] |= (u32)ws_load1(end.at + 1) << 8;
    WS_UNROLL
    for (int i = 0; i < exact; ++i) packet.word[i] = ws_load4((const u32*)end.at + i);
    ws_store_packet(end.channel.slot, packet);
}

template <int group, int exact>
WS_INLINE bool ws_receive_short(const WsCommon& common, const WsEnd& end) {
    bool good = true;
    if (group == ws_one_lane || end.active) {
        WsPacket packet = {{0, 0, 0}, 0};
        good = ws_spin(common.stop, [&] {
            packet = ws_load_packet(end.channel.slot);
            return packet.flag == end.channel.number;
        });
        if (exact == ws_any_bytes) {
            ws_unpack<true>(end.at, end.bytes, packet);
        } else {
            if (exact <= ws_one_byte) end.at[0] = (u8)packet.word[0];
            if (exact == ws_two_bytes) end.at[1] = (u8)(packet.word[0] >> 8);
            WS_UNROLL
            for (int i = 0; i < exact; ++i) ((u32*)end.at)[i] = packet.word[i];
        }
    }
    ws_join<group>();
    return good;
}

/// Does nothing between two messages; soak_between.h has what checks them.
struct WsNoShortSoak {
    static constexpr u32 places = 1;

    WS_MEMBER WsNoShortSoak(const WsOp*, bool) {}
    template <int group> WS_MEMBER void sent(WsEnd&, WsEnd&, bool) {}
    template <int group> WS_MEMBER void end(WsEnd&) {}
};

/// What is left to do when the next packet is in flight; false: told to give up.
template <int group>
WS_INLINE bool ws_after(const WsCommon& common, WsEnd& out, WsEnd& in, bool received) {
    if (received) {
        if (ws_member<group>() == 0) ws_give_credit(common, in.channel);
        ws_advance(common, in.channel);
    }
    ws_advance(common, out.channel);
    // The peer has taken all but the last message by now, and says so.
    return ws_wait_slot(common, out.channel);
}

template <int group, int exact, class Soak>
WS_INLINE bool ws_exact_iterations(const WsProgram& program, const WsCommon& common,
                                   bool sends_first, WsEnd& out, WsEnd& in, WsStamps& stamps,
                                   Soak& soak) {
    u64 iteration = 0, stretches = program.stretches;
    bool received = false;
    ws_stamp<ws_ll>(stamps, ws_have_met);
    u32 left = (u32)program.untimed * Soak::places;
    for (;; left = ws_iterations(program, stretches--) * Soak::places) {
        iteration += left;
        if (sends_first) {
            WS_ROLLED
            for (; left; --left) {
                ws_send_short<group, exact>(out);
                if (!ws_after<group>(common, out, in, received)) return false;
                soak.template sent<group>(out, in, received);
                received = true;
                if (!ws_receive_short<group, exact>(common, in)) return false;
            }
        } else {
            WS_ROLLED
            for (; left; --left) {
                if (!ws_receive_short<group, exact>(common, in)) return false;
                ws_send_short<group, exact>(out);
                if (!ws_after<group>(common, out, in, true)) return false;
                soak.template sent<group>(out, in, true);
            }
        }
        ws_stamp<ws_ll>(stamps, iteration);
        if (stretches == 0) break;
    }
    if (sends_first && received) soak.template end<group>(in);
    return true;
}

/// False: told to give up.
template <int group, class Soak = WsNoShortSoak>
WS_INLINE bool ws_short_iterations(const WsProgram& program, const WsCommon& common,
                                   bool sends_first, const WsOp* ops, WsStamps& stamps) {
    WsEnd out = ws_end<group>(common, ops[sends_first ? 0 : 1]);
    WsEnd in = ws_end<group>(common, ops[sends_first ? 1 : 0]);
    Soak soak(ops, sends_first);
    const u64 bytes = out.channel.bytes;
    const bool alike = group == ws_one_lane && bytes == in.channel.bytes;
    const auto exactly = [&](auto each) {
        return ws_exact_iterations<group, decltype(each)::value>(program, common, sends_first, out,
                                                                 in, stamps, soak);
    };
    if (alike && bytes == 0) return exactly(WsExact<0>{});
    if (alike && bytes == 1) return exactly(WsExact<ws_one_byte>{});
    if (alike && bytes == 2) return exactly(WsExact<ws_two_bytes>{});
    if (alike && bytes == 4) return exactly(WsExact<1>{});
    if (alike && bytes == 8) return exactly(WsExact<2>{});
    return exactly(WsExact<ws_any_bytes>{});
}
