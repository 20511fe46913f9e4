// The iterations of one exchange of short LL messages, of which each is combined with what its
// receiver has: no thread has more than one packet in each direction.
#pragma once

#include "kernels/folds.h"
#include "kernels/short.h"

/// False: told to give up. The program's one step sends ops[0] and receives ops[1]; its one fold
/// has two sources, one of them the message.
template <int group>
WS_INLINE bool ws_fold_pair_iterations(const WsProgram& program, const WsCommon& common,
                                       const WsOp* ops, const WsFolds* folds, WsStamps& stamps) {
    WsEnd out = ws_end<group, WS_FOLD_PACKET>(common, ops[0]);
    WsEnd in = ws_end<group, WS_FOLD_PACKET>(common, ops[1]);
    const WsFold fold = *ws_at<WsFold>(folds->folds);
    const WsSource* const sources = ws_at<WsSource>(folds->sources) + fold.first;
    const bool message_first = sources[0].message != WS_IN_MEMORY;
    const u64 at = (u64)ws_lane() * WS_FOLD_PACKET;
    const u64 own = sources[message_first ? 1 : 0].place + at, to = fold.to + at;
    const u32 each = (u32)program.iterations_per_sample;
    u64 iteration = 0, samples = program.samples + 1;
    for (u32 left = (u32)program.untimed;; left = each) {
        WS_ROLLED
        for (; left; --left) {
            bool good = true;
            if (in.active) {
                ws_store_packet(out.channel.slot,
                                ws_pack<true, true>(out.at, out.bytes, out.channel.number));
                const u64 mine = ws_load_eight<true, true>(own, in.bytes);
                WsPacket packet = {{0, 0, 0}, 0};
                good = ws_spin(common.stop, [&] {
                    packet = ws_load_packet(in.channel.slot);
                    return packet.flag == in.channel.number;
                });
                const u64 theirs = packet.word[0] | (u64)packet.word[1] << 32;
                ws_store_eight<true>(
                    to, in.bytes,
                    message_first ? ws_folded(fold, theirs, mine) : ws_folded(fold, mine, theirs));
            }
            ws_join<group>();
            if (!ws_after<group>(common, out, in, true) || !good) return false;
        }
        ws_stamp<ws_ll>(stamps, iteration);
        iteration += each;
        if (--samples == 0) return true;
    }
}
