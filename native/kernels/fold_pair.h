// The iterations of one exchange of LL messages, of which each is combined with what its receiver
// has: no thread has more than one packet in each direction. The threads of one block share a short
// message, and those of the whole grid a longer one (ws_whole_grid). No block of a grid begins an
// operation before the one before it has ended in all of them, with its whole result in memory.
//
// A slot is free when the peer has given credit for it: one of its threads does, behind the barrier
// by which all have taken their packets. Both ends have to do with credit while a message is on its
// way, and so off the critical path.
#pragma once

#include "kernels/folds.h"
#include "kernels/short.h"

/// What one thread has to do with the fold: 8 bytes of memory, and where their sum goes.
struct WsPairFold {
    WsFold fold;
    u64 own, to;
    bool message_first;
};

template <int group> WS_INLINE WsPairFold ws_pair_fold(const WsFolds* folds) {
    WsPairFold part;
    part.fold = *ws_at<WsFold>(folds->folds);
    const WsSource* const sources = ws_at<WsSource>(folds->sources) + part.fold.first;
    part.message_first = sources[0].message != WS_IN_MEMORY;
    const u64 at = (u64)ws_member<group>() * WS_FOLD_PACKET;
    part.own = sources[part.message_first ? 1 : 0].place + at;
    part.to = part.fold.to + at;
    return part;
}

/// Waits for this thread's packet and combines it; false: told to give up.
WS_INLINE bool ws_fold_packet(const WsCommon& common, const WsPairFold& part, const WsEnd& in) {
    const u64 mine = ws_load_eight<true, true>(part.own, in.bytes);
    WsPacket packet = {{0, 0, 0}, 0};
    const bool good = ws_spin(common.stop, [&] {
        packet = ws_load_packet(in.channel.slot);
        return packet.flag == in.channel.number;
    });
    const u64 theirs = packet.word[0] | (u64)packet.word[1] << 32;
    ws_store_eight<true>(part.to, in.bytes,
                         part.message_first ? ws_folded(part.fold, theirs, mine)
                                            : ws_folded(part.fold, mine, theirs));
    return good;
}

/// False: told to give up. The program's one step sends ops[0] and receives ops[1]; its one fold
/// has two sources, one of them the message.
template <int group>
WS_INLINE bool ws_fold_pair_iterations(const WsProgram& program, const WsCommon& common,
                                       const WsOp* ops, const WsFolds* folds, WsStamps& stamps) {
    WsEnd out = ws_end<group, WS_FOLD_PACKET>(common, ops[0]);
    WsEnd in = ws_end<group, WS_FOLD_PACKET>(common, ops[1]);
    const WsPairFold part = ws_pair_fold<group>(folds);
    WsGridBarrier barrier = {ws_at<u32>(folds->met), 0};
    bool received = false;
    const u32 each = (u32)program.iterations_per_sample;
    u64 iteration = 0, samples = program.samples + 1;
    ws_stamp<ws_ll>(stamps, ws_have_met);
    for (u32 left = (u32)program.untimed;; left = each) {
        WS_ROLLED
        for (; left; --left) {
            if (in.active)
                ws_store_packet(out.channel.slot,
                                ws_pack<true, true>(out.at, out.bytes, out.channel.number));
            bool good = ws_after<group>(common, out, in, received);
            received = true;
            if (good && in.active) good = ws_fold_packet(common, part, in);
            if (group == ws_whole_grid)
                good = ws_meet_grid(barrier, common.stop) && good;
            else
                ws_join<group>();
            if (!good) return false;
        }
        ws_stamp<ws_ll>(stamps, iteration);
        iteration += each;
        if (--samples == 0) return true;
    }
}
