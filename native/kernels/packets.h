// Messages as packets of 16 bytes that carry payload and flag together: who sees the flag has the
// payload, and nothing need be waited for on the way.
#pragma once

#include "kernels/platform_wire.h"

#define WS_PACKET_BYTES (4 * WS_PACKET_WORDS)
/// How many packets a thread has under way at once.
#define WS_AT_ONCE 4

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define WS_PATIENCE 2047
#else
#define WS_PATIENCE 31
#endif

/// Looks now and then whether the host wants the kernel to end.
WS_INLINE bool ws_give_up(u32& tries, const u32* stop) {
    if ((++tries & WS_PATIENCE) != 0) return false;
    ws_pause();
    return ws_load_flag(stop) != 0;
}

/// `left`: bytes of the message from here on.
WS_INLINE WsPacket ws_pack(const u8* from, u64 left, u32 flag) {
    WsPacket packet = {{0, 0, 0}, flag};
    const bool aligned = ((u64)from & 3) == 0;
    if (aligned && left >= WS_PACKET_BYTES) {
        WS_UNROLL
        for (int i = 0; i < WS_PACKET_WORDS; ++i) packet.word[i] = ws_load4((const u32*)from + i);
        return packet;
    }
    WS_UNROLL
    for (u32 i = 0; i < WS_PACKET_WORDS; ++i) {
        if (aligned && left >= 4 * i + 4)
            packet.word[i] = ws_load4((const u32*)from + i);
        else
            for (u32 byte = 4 * i; byte < 4 * i + 4 && byte < left; ++byte)
                packet.word[i] |= (u32)ws_load1(from + byte) << 8 * (byte - 4 * i);
    }
    return packet;
}

WS_INLINE void ws_unpack(u8* to, u64 left, const WsPacket& packet) {
    const bool aligned = ((u64)to & 3) == 0;
    if (aligned && left >= WS_PACKET_BYTES) {
        WS_UNROLL
        for (int i = 0; i < WS_PACKET_WORDS; ++i) ((u32*)to)[i] = packet.word[i];
        return;
    }
    WS_UNROLL
    for (u32 i = 0; i < WS_PACKET_WORDS; ++i) {
        if (aligned && left >= 4 * i + 4)
            ((u32*)to)[i] = packet.word[i];
        else
            for (u32 byte = 4 * i; byte < 4 * i + 4 && byte < left; ++byte)
                to[byte] = (u8)(packet.word[i] >> 8 * (byte - 4 * i));
    }
}

/// The threads of a block send `count` packets together. (A message of no bytes is one packet.)
WS_INLINE void ws_send_packets(WsPacket* slot, const u8* from, u64 bytes, u32 count, u32 flag) {
    const u32 lanes = ws_lanes(), lane = ws_lane();
    if (count <= lanes) {
        if (lane < count) {
            const u32 at = lane * WS_PACKET_BYTES;
            ws_store_packet(slot + lane, ws_pack(from + at, bytes - at, flag));
        }
        return;
    }
    for (u32 first = lane; first < count; first += WS_AT_ONCE * lanes) {
        WsPacket packets[WS_AT_ONCE] = {};
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k) {
            const u64 at = (u64)(first + k * lanes) * WS_PACKET_BYTES;
            if (first + k * lanes < count) packets[k] = ws_pack(from + at, bytes - at, flag);
        }
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k)
            if (first + k * lanes < count) ws_store_packet(slot + first + k * lanes, packets[k]);
    }
}

/// Back when this thread's packets lie in the message's place; false: told to give up.
WS_INLINE bool ws_receive_packets(u8* to, u64 bytes, const WsPacket* slot, u32 count, u32 flag,
                                  const u32* stop) {
    const u32 lanes = ws_lanes(), lane = ws_lane();
    u32 tries = 0;
    if (count <= lanes) {
        if (lane >= count) return true;
        WsPacket packet = ws_load_packet(slot + lane);
        while (packet.flag != flag) {
            if (ws_give_up(tries, stop)) return false;
            packet = ws_load_packet(slot + lane);
        }
        const u32 at = lane * WS_PACKET_BYTES;
        ws_unpack(to + at, bytes - at, packet);
        return true;
    }
    for (u32 first = lane; first < count; first += WS_AT_ONCE * lanes) {
        WsPacket packets[WS_AT_ONCE] = {};
        for (bool all = false; !all;) {
            all = true;
            WS_UNROLL
            for (u32 k = 0; k < WS_AT_ONCE; ++k)
                if (first + k * lanes < count)
                    packets[k] = ws_load_packet(slot + first + k * lanes);
            WS_UNROLL
            for (u32 k = 0; k < WS_AT_ONCE; ++k)
                if (first + k * lanes < count) all = all && packets[k].flag == flag;
            if (!all && ws_give_up(tries, stop)) return false;
        }
        WS_UNROLL
        for (u32 k = 0; k < WS_AT_ONCE; ++k) {
            const u64 at = (u64)(first + k * lanes) * WS_PACKET_BYTES;
            if (first + k * lanes < count) ws_unpack(to + at, bytes - at, packets[k]);
        }
    }
    return true;
}
