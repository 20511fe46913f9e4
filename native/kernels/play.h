// Whole rounds of a program, played by the GPU itself: blocks write into the peers' memory, tell
// them by flags, and wait for what the peers send. Three ways to move a message:
//  packets  payload and flag in the same 16 bytes, through a ring of slots at the receiver: no
//  fence
//           on the way. One block.
//  stores   straight into the receiver's buffer, then a fence and one flag for each block.
//  bulk     the same, copied by the bulk copy engine of each multiprocessor where there is one.
// A rank's next step begins when all that it receives in this one lies in its buffer.
#pragma once

#include "kernels/bulk.h"
#include "kernels/platform_wire.h"
#include "kernels/play_types.h"

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

/// False: told to give up.
WS_INLINE bool ws_wait_word(const u32* at, u32 value, const u32* stop) {
    u32 tries = 0;
    while ((int)(ws_load_flag(at) - value) < 0)
        if (ws_give_up(tries, stop)) return false;
    return true;
}

/// The words that every block of the peer raises.
WS_INLINE bool ws_wait_words(const u32* words, u32 value, const u32* stop) {
    bool good = true;
    for (u64 i = ws_lane(); i < ws_blocks() && good; i += ws_lanes())
        good = ws_wait_word(words + i, value, stop);
    return good;
}

WS_INLINE u32 ws_number(const WsMove& move, u32 round) {
    return move.before + round * move.each + move.place;
}

#define WS_PACKET_BYTES (4 * WS_PACKET_WORDS)
WS_INLINE u64 ws_packet_count(u64 bytes) {
    return bytes ? (bytes + WS_PACKET_BYTES - 1) / WS_PACKET_BYTES : 1;
}

WS_INLINE WsPacket ws_pack(const u8* from, u64 bytes, u64 index, u32 flag) {
    WsPacket packet = {{0, 0, 0}, flag};
    const u64 at = index * WS_PACKET_BYTES;
    if (((u64)from & 3) == 0 && at + WS_PACKET_BYTES <= bytes) {
        for (int i = 0; i < WS_PACKET_WORDS; ++i)
            packet.word[i] = ws_load4((const u32*)(from + at) + i);
    } else {
        for (u64 i = 0; i < WS_PACKET_BYTES && at + i < bytes; ++i)
            packet.word[i / 4] |= (u32)ws_load1(from + at + i) << 8 * (i % 4);
    }
    return packet;
}

WS_INLINE void ws_unpack(u8* to, u64 bytes, u64 index, WsPacket packet) {
    const u64 at = index * WS_PACKET_BYTES;
    if (((u64)to & 3) == 0 && at + WS_PACKET_BYTES <= bytes) {
        for (int i = 0; i < WS_PACKET_WORDS; ++i) ((u32*)(to + at))[i] = packet.word[i];
    } else {
        for (u64 i = 0; i < WS_PACKET_BYTES && at + i < bytes; ++i)
            to[at + i] = (u8)(packet.word[i / 4] >> 8 * (i % 4));
    }
}

/// How many packets a thread has under way at once.
#define WS_AT_ONCE 4

WS_INLINE void ws_send_packets(const WsMove& move, WsPacket* slot, u32 number) {
    const u8* from = ws_at<u8>(move.mine);
    const u64 count = ws_packet_count(move.bytes), lanes = ws_lanes();
    for (u64 first = ws_lane(); first < count; first += WS_AT_ONCE * lanes) {
        WsPacket packets[WS_AT_ONCE];
        WS_UNROLL
        for (int k = 0; k < WS_AT_ONCE; ++k)
            if (first + k * lanes < count)
                packets[k] = ws_pack(from, move.bytes, first + k * lanes, number);
        WS_UNROLL
        for (int k = 0; k < WS_AT_ONCE; ++k)
            if (first + k * lanes < count) ws_store_packet(slot + first + k * lanes, packets[k]);
    }
}

WS_INLINE bool ws_receive_packets(const WsMove& move, const WsPacket* slot, u32 number,
                                  const u32* stop) {
    u8* to = ws_at<u8>(move.mine);
    const u64 count = ws_packet_count(move.bytes), lanes = ws_lanes();
    u32 tries = 0;
    for (u64 first = ws_lane(); first < count; first += WS_AT_ONCE * lanes) {
        WsPacket packets[WS_AT_ONCE];
        for (bool all = false; !all;) {
            all = true;
            WS_UNROLL
            for (int k = 0; k < WS_AT_ONCE; ++k)
                if (first + k * lanes < count) {
                    packets[k] = ws_load_packet(slot + first + k * lanes);
                    all = all && packets[k].flag == number;
                }
            if (!all && ws_give_up(tries, stop)) return false;
        }
        WS_UNROLL
        for (int k = 0; k < WS_AT_ONCE; ++k)
            if (first + k * lanes < count) ws_unpack(to, move.bytes, first + k * lanes, packets[k]);
    }
    return true;
}

/// One step of one round; false: told to give up.
template <int method>
WS_INLINE bool ws_play_step(const WsPlay& play, WsStep step, const WsMove* moves, u32* credits,
                            u32 round, WsBulk& bulk) {
    const u32* stop = ws_at<u32>(play.stop);
    const WsMove* receives = moves + step.sends;
    bool good = true;
    if (play.guarded && method != ws_packets && ws_lane() == 0)
        for (u32 i = 0; i < step.receives; ++i)
            ws_store_flag(ws_at<u32>(receives[i].readies) + ws_block(),
                          ws_number(receives[i], round));
    for (u32 i = 0; i < step.sends && good; ++i) {
        const WsMove& move = moves[i];
        const u32 number = ws_number(move, round);
        if (method == ws_packets) {
            // The word lies with this rank, but reading it takes time: only when it must be.
            const u32 needed = number - play.slots;
            if ((int)(needed - credits[i]) > 0) {
                good = ws_wait_word(ws_at<u32>(move.credit), needed, stop);
                ws_sync();
                if (ws_lane() == 0) credits[i] = ws_load_flag(ws_at<u32>(move.credit));
                ws_sync();
            }
            WsPacket* ring = ws_at<WsPacket>(move.box);
            if (good)
                ws_send_packets(move, ring + (u64)(number % play.slots) * play.slot_packets,
                                number);
        } else {
            if (play.guarded) {
                good = ws_wait_words(ws_at<u32>(move.readies), number, stop);
                ws_sync();
            }
            if (method == ws_bulk)
                ws_bulk_copy(bulk, move.theirs, move.mine, move.bytes);
            else
                ws_copy(move.theirs, move.mine, move.bytes);
        }
    }
    if (method != ws_packets && step.sends) {
        ws_sync();
        if (ws_lane() == 0) {
            ws_fence();
            for (u32 i = 0; i < step.sends; ++i)
                ws_store_flag(ws_at<u32>(moves[i].flags) + ws_block(), ws_number(moves[i], round));
        }
    }
    for (u32 i = 0; i < step.receives && good; ++i) {
        const WsMove& move = receives[i];
        const u32 number = ws_number(move, round);
        if (method == ws_packets) {
            const WsPacket* ring = ws_at<WsPacket>(move.box);
            good = ws_receive_packets(move, ring + (u64)(number % play.slots) * play.slot_packets,
                                      number, stop);
        } else {
            good = ws_wait_words(ws_at<u32>(move.flags), number, stop);
        }
    }
    return good;
}

template <int method> WS_INLINE void ws_play(const WsPlay* described) {
    WS_SHARED WsPlay play;
    WS_SHARED WsMove near_moves[WS_NEAR];
    WS_SHARED WsStep near_steps[WS_NEAR];
    WS_SHARED u32 credits[WS_NEAR];
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
    // All before the launch has been consumed: the peers would not have started otherwise.
    for (u32 i = ws_lane(); i < play.move_count && i < WS_NEAR; i += ws_lanes())
        credits[i] = moves[i].before;
    const u32* stop = ws_at<u32>(play.stop);
    const WsPeer* peers = ws_at<WsPeer>(play.peers);
    for (u32 i = ws_lane(); i < play.peer_count; i += ws_lanes()) {
        if (ws_block() == 0) ws_store_flag(ws_at<u32>(peers[i].theirs), play.launch);
        if (!ws_wait_word(ws_at<u32>(peers[i].mine), play.launch, stop)) stopped = 1;
    }
    WsBulk bulk;
    if (method == ws_bulk) ws_bulk_begin(bulk);
    ws_sync();
    const bool leads = ws_thread() == 0;
    u64* stamps = ws_at<u64>(play.stamps);
    const u64 total = play.lead_in + play.rounds_per_sample * play.samples;
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
            if (round == total) return;
            next += play.rounds_per_sample;
        }
        const WsMove* now = moves;
        u32* known = credits;
        for (u32 s = 0; s < play.step_count; ++s) {
            const WsStep step = steps[s];
            if (!ws_play_step<method>(play, step, now, known, (u32)round, bulk)) stopped = 1;
            if (step.receives) ws_sync();
            if (stopped) return;
            if (method == ws_packets && ws_lane() == 0)
                for (u32 i = step.sends; i < step.sends + step.receives; ++i) {
                    // Every quarter of the ring is soon enough.
                    const u32 number = ws_number(now[i], (u32)round);
                    if (play.slots < 4 || number % (play.slots / 4) == 0)
                        ws_store_flag(ws_at<u32>(now[i].credit), number);
                }
            now += step.sends + step.receives;
            known += step.sends + step.receives;
        }
    }
}

WS_WIDE_KERNEL ws_play_packets(const WsPlay* play) { ws_play<ws_packets>(play); }
WS_WIDE_KERNEL ws_play_stores(const WsPlay* play) { ws_play<ws_stores>(play); }
WS_WIDE_KERNEL ws_play_bulk(const WsPlay* play) { ws_play<ws_bulk>(play); }

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
