// One transfer of a program in its several ways, and the clock's stamps.
#pragma once

#include "kernels/bulk.h"
#include "kernels/packets.h"
#include "kernels/play_types.h"

/// False: told to give up.
WS_INLINE bool ws_wait_word(const u32* at, u32 value, const u32* stop) {
    return ws_spin(stop, [&] { return (int)(ws_load_flag(at) - value) >= 0; });
}

/// The same where it is seldom needed, with what the word then says.
WS_SELDOM bool ws_wait_credit(const u32* at, u32 value, const u32* stop, u32* known) {
    if (!ws_wait_word(at, value, stop)) return false;
    *known = ws_load_flag(at);
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
    u32 first, each, packets;
    u32 known;  ///< as far as the receiver is known to have emptied its slots; a pair's alone
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

/// Waits until the slot of message `number` is empty. `known`: what the sender's block knows of it,
/// in shared memory, so that the credit word is read by one thread and only when it must be. Every
/// thread comes to the same answer: what is read here was written before a barrier.
WS_INLINE bool ws_wait_slot(const WsScene& scene, const WsOp& op, u32 number, u32* known) {
    const u32 needed = number - scene.last_slot - 1;
    if ((int)(needed - *known) <= 0) return true;
    ws_sync();  // all have read it
    if (ws_lane() == 0) {
        u32 now = needed - 1;
        ws_wait_credit(op.credit, needed, scene.stop, &now);
        *known = now;
    }
    ws_sync();
    return (int)(needed - *known) <= 0;
}

template <int method>
WS_INLINE bool ws_send(const WsScene& scene, const WsOp& op, u32 round, WsBulk& bulk, u32* known) {
    const u32 number = op.first + round * op.each;
    if (method == ws_packets) {
        if (!ws_wait_slot(scene, op, number, known)) return false;
        ws_send_packets<false>(ws_slot(scene, op, number), op.near_end, op.bytes, op.packets,
                               number);
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
        return ws_receive_packets<false>(op.near_end, op.bytes, ws_slot(scene, op, number),
                                         op.packets, number, scene.stop);
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
        ws_release_flag(op.credit, number);
}

/// Stamps of the rounds' times, by one thread of the grid.
struct WsStamps {
    bool leads;
    u32* gathered;
    u32 expected;
    const u32* stop;
    u64* next;
    u64* progress;
    u64 told, tell_after;
};

/// Where each block fetches its share (`pulls`), the message is there when the last one is done.
template <int method> WS_INLINE void ws_stamp(WsStamps& stamps, u64 round) {
    if (ws_pulls(method)) {
        ws_sync();
        if (ws_lane() == 0) {
            ws_fence();
            ws_atomic_add(stamps.gathered, 1);
        }
        stamps.expected += (u32)ws_blocks();
        if (stamps.leads) ws_wait_word(stamps.gathered, stamps.expected, stamps.stop);
    }
    if (!stamps.leads) return;
    const u64 time = ws_ticks();
    *stamps.next++ = time;
    // Rarely, for a write to the host holds up the next fence.
    if (time - stamps.told > stamps.tell_after) {
        stamps.told = time;
        ws_store_stamp(stamps.progress, round);
    }
}
