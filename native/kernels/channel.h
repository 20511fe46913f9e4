// One direction between two ranks: how a message is sent and received by each protocol, and the
// words by which both sides know what may be read and overwritten.
#pragma once

#include "kernels/ll.h"
#include "kernels/message_work.h"
#include "kernels/persistent_types.h"
#include "kernels/pieces.h"
#include "kernels/tma.h"

/// False: told to give up.
WS_INLINE bool ws_wait_word(const u32* at, u32 value, const u32* stop) {
    return ws_spin(stop, [&] { return (int)(ws_load_flag(at) - value) >= 0; });
}

/// The words that every block of the peer raises.
WS_INLINE bool ws_wait_words(const u32* words, u32 value, const u32* stop) {
    for (u32 i = ws_lane(); i < (u32)ws_blocks(); i += ws_lanes())
        if (!ws_wait_word(words + i, value, stop)) return false;
    return true;
}

WS_INLINE u32 ws_number_of(const WsOp& op, u32 iteration) {
    return op.before + op.place + iteration * op.each;
}

/// Of `count` transfers: their flags, or ready flags. All at once, because one word after the other
/// costs its own way from memory each. `own`: those of the peer's block of this number alone.
WS_INLINE bool ws_wait_all(const WsOp* ops, u32 count, u32 iteration, bool ready, const u32* stop,
                           bool own = false) {
    const u32 blocks = own ? 1 : (u32)ws_blocks(), first = own ? (u32)ws_block() : 0;
    for (u32 i = ws_lane(); i < count * blocks; i += ws_lanes()) {
        const WsOp& op = ops[i / blocks];
        const u32* const words = ws_at<u32>(ready ? op.ready_flags : op.flags);
        if (!ws_wait_word(words + first + i % blocks, ws_number_of(op, iteration), stop))
            return false;
    }
    return true;
}

WS_INLINE constexpr bool ws_pulls(int protocol) {
    return protocol == ws_pull || protocol == ws_tma_pull;
}

/// What all channels of a launch have in common.
struct WsCommon {
    const u32* stop;
    u32 last_slot, slot_packets, guarded;
    u32 credit_every;
};

/// The next message of one direction, with addresses as the kernel follows them; kept in registers
/// where it can be.
struct WsChannel {
    u64 mine, theirs, bytes;
    u8* buffer;  ///< this rank's end
    WsPacket *ring, *slot;
    u32 *flags, *ready_flags, *credit;
    u32 number;  ///< of the message; the words that it raises say it
    u32 packets;
    u32 known;  ///< the last message that the receiver is known to have taken out of its slot
    WsChange change;
};

WS_INLINE void ws_set_number(const WsCommon& common, WsChannel& channel, u32 number) {
    channel.number = number;
    channel.slot = channel.ring + (u64)(number & common.last_slot) * common.slot_packets;
}

WS_INLINE WsChannel ws_channel(const WsCommon& common, const WsOp& op, u32 iteration) {
    WsChannel channel;
    channel.mine = op.mine;
    channel.theirs = op.theirs;
    channel.bytes = op.bytes;
    channel.buffer = ws_at<u8>(op.mine);
    channel.ring = ws_at<WsPacket>(op.ring);
    channel.flags = ws_at<u32>(op.flags);
    channel.ready_flags = ws_at<u32>(op.ready_flags);
    channel.credit = ws_at<u32>(op.credit);
    channel.packets = op.packets;
    channel.change = {op.operand, op.work};
    // All before the launch has been consumed: the peers would not have started otherwise.
    channel.known = op.before;
    ws_set_number(common, channel, ws_number_of(op, iteration));
    return channel;
}

/// For a channel of one message an iteration.
WS_INLINE void ws_advance(const WsCommon& common, WsChannel& channel) {
    ws_set_number(common, channel, channel.number + 1);
}

// ---- LL: a slot of the ring is used again once the receiver gives credit for it ----

/// The last message that must have been taken before this one may use its slot.
WS_INLINE u32 ws_credit_needed(const WsCommon& common, const WsChannel& channel) {
    return channel.number - common.last_slot - 1;
}

/// Seldom needed: the ring is full, as far as is known. `known`: what the credit word then says.
WS_SELDOM bool ws_wait_credit(const u32* at, u32 value, const u32* stop, u32* known) {
    if (!ws_wait_word(at, value, stop)) return false;
    *known = ws_load_flag(at);
    return true;
}

/// Waits until the message's slot is empty; each thread for itself.
WS_INLINE bool ws_wait_slot(const WsCommon& common, WsChannel& channel) {
    const u32 needed = ws_credit_needed(common, channel);
    if ((int)(needed - channel.known) <= 0) return true;
    u32 known = 0;  // whose address is taken: the channel stays in registers
    const bool good = ws_wait_credit(channel.credit, needed, common.stop, &known);
    channel.known = known;
    return good;
}

/// The same for a block: one thread reads the word, and only when it must. `known` lies in shared
/// memory. Every thread comes to the same answer: what is read here was written before a barrier.
WS_INLINE bool ws_wait_slot_together(const WsCommon& common, const WsChannel& channel, u32* known) {
    const u32 needed = ws_credit_needed(common, channel);
    if ((int)(needed - *known) <= 0) return true;
    ws_sync();  // all have read it
    if (ws_lane() == 0) {
        u32 now = needed - 1;
        ws_wait_credit(channel.credit, needed, common.stop, &now);
        *known = now;
    }
    ws_sync();
    return (int)(needed - *known) <= 0;
}

/// By one thread, when all have their part of the message: slots are free again. Now and then is
/// soon enough.
WS_INLINE void ws_give_credit(const WsCommon& common, const WsChannel& channel) {
    if ((channel.number & (common.credit_every - 1)) == 0)
        ws_release_flag(channel.credit, channel.number);
}

// ---- the other protocols: one flag for each block of the sender ----

template <int protocol> WS_INLINE void ws_copy_by(WsTma& tma, u64 to, u64 from, u64 bytes) {
    if (protocol == ws_tma || protocol == ws_tma_pull)
        ws_tma_copy(tma, to, from, bytes);
    else
        ws_copy(to, from, bytes);
}

template <int protocol> WS_INLINE void ws_push(const WsChannel& channel, WsTma& tma) {
    if (!ws_pulls(protocol)) ws_copy_by<protocol>(tma, channel.theirs, channel.mine, channel.bytes);
}

WS_INLINE void ws_push_list(const WsChannel& channel) {
    const WsPieceList list = *ws_at<WsPieceList>(channel.change.operand);
    ws_copy_pieces(channel.theirs, channel.mine, ws_at<WsPiece>(list.pieces), list.count,
                   list.team);
}

/// So many short messages are copied together.
#define WS_SENDS_AT_ONCE 8

/// Pushes messages of equal length. Each thread copies what ws_copy gives it of each, and waits
/// once for what it loads of several.
template <class Channel> WS_INLINE void ws_push_all(u32 count, const Channel& channel) {
    const u64 bytes = channel(0).bytes, threads = ws_threads();
    for (u32 first = 0; first < count; first += WS_SENDS_AT_ONCE) {
        u64 places = 0;
        for (u32 i = first; i < count && i < first + WS_SENDS_AT_ONCE; ++i)
            places |= channel(i).mine | channel(i).theirs;
        const u64 whole = (places & 15) == 0 ? bytes / 16 : 0;
        for (u64 at = ws_thread(); at < whole; at += threads) {
            Ws16 taken[WS_SENDS_AT_ONCE] = {};
            WS_UNROLL
            for (u32 k = 0; k < WS_SENDS_AT_ONCE; ++k)
                if (first + k < count)
                    taken[k] = ws_load16(ws_at<Ws16>(channel(first + k).mine) + at);
            WS_UNROLL
            for (u32 k = 0; k < WS_SENDS_AT_ONCE; ++k)
                if (first + k < count)
                    ws_store16(ws_at<Ws16>(channel(first + k).theirs) + at, taken[k]);
        }
        for (u32 i = first; i < count && i < first + WS_SENDS_AT_ONCE; ++i)
            ws_copy(channel(i).theirs + 16 * whole, channel(i).mine + 16 * whole,
                    bytes - 16 * whole);
    }
}

/// By one thread, after a ws_sync() and a ws_fence(): the message is complete, or may be fetched.
WS_INLINE void ws_raise_flag(const WsChannel& channel) {
    ws_store_flag(channel.flags + ws_block(), channel.number);
}

/// Waits for a message; this thread's part of it lies in the buffer afterwards. `words`: messages
/// lie on whole words. `payload`: bytes in a packet of LL.
template <int protocol, bool words, u32 payload = WS_PACKET_BYTES>
WS_INLINE bool ws_receive(const WsCommon& common, const WsChannel& channel, WsTma& tma) {
    if (protocol == ws_ll)
        return ws_ll_receive<words, payload>(channel.buffer, channel.bytes, channel.slot,
                                             channel.packets, channel.number, common.stop);
    const bool good = ws_wait_words(channel.flags, channel.number, common.stop);
    if (ws_pulls(protocol)) {
        ws_sync();
        if (good && channel.change.work != ws_no_work)
            ws_change<false, false>(channel.mine, channel.theirs, channel.bytes, channel.change,
                                    ws_thread(), ws_threads());
        else if (good)
            ws_copy_by<protocol>(tma, channel.mine, channel.theirs, channel.bytes);
    }
    return good;
}
