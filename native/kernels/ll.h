// The low-latency protocol (LL): packets of 16 bytes with data and flag in one store. Who sees the
// flag has the data; the critical path has no fence.
#pragma once

#include "kernels/platform_wire.h"
#include "kernels/spin.h"

#define WS_PACKET_BYTES (4 * WS_PACKET_WORDS)
/// How many packets a thread has in flight at once.
#define WS_AT_ONCE 4

/// What is left of a message from `at` on, as far as a packet of `payload` bytes holds it.
template <u32 payload = WS_PACKET_BYTES> WS_INLINE u32 ws_rest(u64 bytes, u64 at) {
    return bytes - at < payload ? (u32)(bytes - at) : payload;
}

/// Of a packet that is not full, or does not lie on whole words. Registers have no index.
WS_SELDOM WsPacket ws_pack_bytes(const u8* from, u32 left, u32 flag) {
    WsPacket packet = {{0, 0, 0}, flag};
    WS_ROLLED
    for (u32 at = 0; at < left; ++at) {
        const u32 byte = (u32)ws_load1(from + at) << 8 * (at & 3);
        if (at < 4)
            packet.word[0] |= byte;
        else if (at < 8)
            packet.word[1] |= byte;
        else
            packet.word[2] |= byte;
    }
    return packet;
}

WS_SELDOM void ws_unpack_bytes(u8* to, u32 left, WsPacket packet) {
    WS_ROLLED
    for (u32 at = 0; at < left; ++at) {
        const u32 word = at < 4 ? packet.word[0] : at < 8 ? packet.word[1] : packet.word[2];
        to[at] = (u8)(word >> 8 * (at & 3));
    }
}

/// `left`: bytes that the packet holds. Messages lie on whole words where `words` says so.
/// `own`: no other block writes there while the kernel runs, and a cache may be asked.
template <bool words, bool own = false>
WS_INLINE WsPacket ws_pack(const u8* from, u32 left, u32 flag) {
    if (!words || (left & 3) != 0) return ws_pack_bytes(from, left, flag);
    WsPacket packet = {{0, 0, 0}, flag};
    WS_UNROLL
    for (u32 i = 0; i < WS_PACKET_WORDS; ++i)
        if (left > 4 * i)
            packet.word[i] = own ? ((const u32*)from)[i] : ws_load4((const u32*)from + i);
    return packet;
}

template <bool words> WS_INLINE void ws_unpack(u8* to, u32 left, const WsPacket& packet) {
    if (!words || (left & 3) != 0) return ws_unpack_bytes(to, left, packet);
    WS_UNROLL
    for (u32 i = 0; i < WS_PACKET_WORDS; ++i)
        if (left > 4 * i) ((u32*)to)[i] = packet.word[i];
}

/// The threads of a block send `count` packets together. (A message of no bytes is one packet.)
template <bool words, bool own = false, u32 payload = WS_PACKET_BYTES>
WS_INLINE void ws_ll_send(WsPacket* slot, const u8* from, u64 bytes, u32 count, u32 flag) {
    const u32 lanes = ws_lanes(), lane = ws_lane();
    if (count <= lanes) {
        if (lane < count) {
            const u32 at = lane * payload;
            ws_store_packet(slot + lane,
                            ws_pack<words, own>(from + at, ws_rest<payload>(bytes, at), flag));
        }
        return;
    }
    for (u32 first = lane; first < count; first += WS_AT_ONCE * lanes) {
        WsPacket packets[WS_AT_ONCE] = {};
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k) {
            const u64 at = (u64)(first + k * lanes) * payload;
            if (first + k * lanes < count)
                packets[k] = ws_pack<words, own>(from + at, ws_rest<payload>(bytes, at), flag);
        }
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k)
            if (first + k * lanes < count) ws_store_packet(slot + first + k * lanes, packets[k]);
    }
}

/// Back when the packet lies in its place; false: told to give up.
template <bool words>
WS_INLINE bool ws_ll_receive_packet(u8* to, u32 left, const WsPacket* from, u32 flag,
                                    const u32* stop) {
    WsPacket packet;
    const bool there = ws_spin(stop, [&] {
        packet = ws_load_packet(from);
        return packet.flag == flag;
    });
    if (!there) return false;
    ws_unpack<words>(to, left, packet);
    return true;
}

/// Back when this thread's packets lie in the message's place; false: told to give up.
template <bool words, u32 payload = WS_PACKET_BYTES>
WS_INLINE bool ws_ll_receive(u8* to, u64 bytes, const WsPacket* slot, u32 count, u32 flag,
                             const u32* stop) {
    const u32 lanes = ws_lanes(), lane = ws_lane();
    if (count <= lanes) {
        if (lane >= count) return true;
        const u32 at = lane * payload;
        return ws_ll_receive_packet<words>(to + at, ws_rest<payload>(bytes, at), slot + lane, flag,
                                           stop);
    }
    for (u32 first = lane; first < count; first += WS_AT_ONCE * lanes) {
        WsPacket packets[WS_AT_ONCE] = {};
        const bool there = ws_spin(stop, [&] {
            bool all = true;
            WS_UNROLL
            for (u32 k = 0; k < WS_AT_ONCE; ++k)
                if (first + k * lanes < count)
                    packets[k] = ws_load_packet(slot + first + k * lanes);
            WS_UNROLL
            for (u32 k = 0; k < WS_AT_ONCE; ++k)
                if (first + k * lanes < count) all = all && packets[k].flag == flag;
            return all;
        });
        if (!there) return false;
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k) {
            const u64 at = (u64)(first + k * lanes) * payload;
            if (first + k * lanes < count)
                ws_unpack<words>(to + at, ws_rest<payload>(bytes, at), packets[k]);
        }
    }
    return true;
}

/// The packets of `count` messages of as many each, shared out among the lanes of the block.
/// `channel(i)`: of the i-th.
template <bool words, bool own, u32 payload, class Channel>
WS_INLINE void ws_ll_send_all(u32 count, const Channel& channel) {
    const u32 packets = channel(0).packets, total = count * packets, lanes = ws_lanes();
    for (u32 first = ws_lane(); first < total; first += WS_AT_ONCE * lanes) {
        WsPacket taken[WS_AT_ONCE] = {};
        WsPacket* slots[WS_AT_ONCE] = {};
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k) {
            const u32 i = first + k * lanes;
            if (i >= total) continue;
            const auto to = channel(i / packets);
            const u64 at = (u64)(i % packets) * payload;
            slots[k] = to.slot + i % packets;
            taken[k] =
                ws_pack<words, own>(to.buffer + at, ws_rest<payload>(to.bytes, at), to.number);
        }
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k)
            if (slots[k]) ws_store_packet(slots[k], taken[k]);
    }
}

/// The same on the other side: this lane's packets lie in their places afterwards. False: told to
/// give up.
template <bool words, u32 payload, class Channel>
WS_INLINE bool ws_ll_receive_all(u32 count, const Channel& channel, const u32* stop) {
    const u32 packets = channel(0).packets, total = count * packets, lanes = ws_lanes();
    for (u32 first = ws_lane(); first < total; first += WS_AT_ONCE * lanes) {
        WsPacket taken[WS_AT_ONCE] = {};
        const bool there = ws_spin(stop, [&] {
            bool all = true;
            u32 numbers[WS_AT_ONCE] = {};
            WS_UNROLL
            for (u32 k = 0; k < WS_AT_ONCE; ++k) {
                const u32 i = first + k * lanes;
                if (i >= total) continue;
                const auto from = channel(i / packets);
                numbers[k] = from.number;
                taken[k] = ws_load_packet(from.slot + i % packets);
            }
            WS_UNROLL
            for (u32 k = 0; k < WS_AT_ONCE; ++k)
                if (first + k * lanes < total) all = all && taken[k].flag == numbers[k];
            return all;
        });
        if (!there) return false;
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k) {
            const u32 i = first + k * lanes;
            if (i >= total) continue;
            const auto from = channel(i / packets);
            const u64 at = (u64)(i % packets) * payload;
            ws_unpack<words>(from.buffer + at, ws_rest<payload>(from.bytes, at), taken[k]);
        }
    }
    return true;
}
