// The iterations of a program that exchanges messages of one length with the same few peers in each
// of its one or two steps, and combines what comes, by LL. Each block has the same packets of every
// message, at both ends; its lanes share them, so that a lane talks to one peer. No block of a grid
// begins an operation before the one before it has ended in all of them, with its whole result in
// memory.
//
// Two slots of a ring are enough, and no credit is needed: a block sends the message of a step when
// it has all packets of the step before, which the peers' blocks sent when they had taken out all
// packets of the step before that.
#pragma once

#include "kernels/folds.h"
#include "kernels/short.h"

#define WS_EXCHANGE_OWN WS_EXCHANGE_PEERS

struct WsExchangeStep {
    u64 from[WS_EXCHANGE_PEERS], to[WS_EXCHANGE_PEERS];  ///< of each peer's message
    u64 own;      ///< what of this rank's memory is combined or copied; 0: nothing
    WsFold fold;  ///< of no source: what comes goes to its place
    bool takes;   ///< the fold takes what comes; it is a copy of `own` otherwise
    /// The peer whose message is combined at this place, or WS_EXCHANGE_OWN.
    u8 order[WS_EXCHANGE_PEERS + 1];
};

/// By one thread; a barrier must follow.
WS_INLINE void ws_read_exchange(const WsProgram& program, const WsStep* steps, const WsOp* ops,
                                const WsFolds* given, WsExchangeStep* read) {
    const WsFoldStep* const fold_steps = ws_at<WsFoldStep>(given->steps);
    const WsFold* folds = ws_at<WsFold>(given->folds);
    WS_ROLLED
    for (u32 s = 0; s < program.step_count; ++s) {
        WsExchangeStep& step = read[s];
        const u32 peers = steps[s].sends;
        for (u32 i = 0; i < peers; ++i) {
            step.from[i] = ops[i].mine;
            step.to[i] = ops[peers + i].mine;
        }
        step.own = step.fold.sources = 0;
        step.takes = false;
        if (fold_steps[s].meanwhile + fold_steps[s].after) {
            step.fold = *folds++;
            const WsSource* const sources = ws_at<WsSource>(given->sources) + step.fold.first;
            for (u32 i = 0; i < step.fold.sources; ++i) {
                const bool comes = sources[i].message != WS_IN_MEMORY;
                step.order[i] = (u8)(comes ? sources[i].message - peers : WS_EXCHANGE_OWN);
                step.takes = step.takes || comes;
                if (!comes) step.own = sources[i].place;
            }
        }
        ops += 2 * peers;
    }
}

/// The packets of a lane: of one peer's messages, those of the block from `column` on, `width`
/// apart.
struct WsExchangeLane {
    WsPacket *out, *in;
    u32 peer, column, width;
    u32 first, count;  ///< packets of a message that are this block's
    u32 sent, received;
    bool active;
};

template <int group> WS_INLINE WsExchangeLane ws_exchange_lane(const WsOp* ops, u32 peers) {
    WsExchangeLane lane = {};
    const u32 blocks = group == ws_whole_grid ? (u32)ws_blocks() : 1, all = ops[0].packets;
    const u32 share = (all + blocks - 1) / blocks;
    lane.first = group == ws_whole_grid ? share * (u32)ws_block() : 0;
    lane.count = lane.first >= all ? 0 : all - lane.first < share ? all - lane.first : share;
    lane.width = ws_lanes() / peers;
    if (lane.width > lane.count) lane.width = lane.count ? lane.count : 1;
    // Whole warps read whole lines.
    if (lane.width > 32) lane.width -= lane.width % 32;
    lane.peer = ws_lane() / lane.width;
    lane.column = ws_lane() % lane.width;
    lane.active = lane.peer < peers && lane.column < lane.count;
    if (!lane.active) return lane;
    const WsOp &out = ops[lane.peer], &in = ops[peers + lane.peer];
    lane.out = ws_at<WsPacket>(out.ring) + lane.first;
    lane.in = ws_at<WsPacket>(in.ring) + lane.first;
    lane.sent = out.before;
    lane.received = in.before;
    return lane;
}

WS_INLINE WsPacket* ws_exchange_slot(const WsCommon& common, WsPacket* ring, u32 number) {
    return ring + (u64)(number & common.last_slot) * common.slot_packets;
}

/// This lane's packets of what one step sends.
WS_INLINE void ws_exchange_send(const WsCommon& common, const WsExchangeStep& step,
                                WsExchangeLane& lane, u64 bytes) {
    const u32 number = ++lane.sent;
    WsPacket* const slot = ws_exchange_slot(common, lane.out, number);
    const u64 from = step.from[lane.peer];
    WS_ROLLED
    for (u32 p = lane.column; p < lane.count; p += lane.width) {
        const u64 at = (u64)(lane.first + p) * WS_FOLD_PACKET;
        ws_store_packet(slot + p, ws_pack<true, true>(ws_at<u8>(from) + at,
                                                      ws_rest<WS_FOLD_PACKET>(bytes, at), number));
    }
}

/// The packet's payload; false: told to give up.
WS_INLINE bool ws_exchange_take(const WsCommon& common, const WsPacket* from, u32 number,
                                u64& taken) {
    WsPacket packet = {{0, 0, 0}, 0};
    const bool there = ws_spin(common.stop, [&] {
        packet = ws_load_packet(from);
        return packet.flag == number;
    });
    taken = packet.word[0] | (u64)packet.word[1] << 32;
    return there;
}

/// `near`: what each peer's lane of a column has got.
WS_INLINE u64 ws_exchange_sum(const WsExchangeStep& step, const WsExchangeLane& lane, u64 own,
                              const u64* near) {
    u64 parts[WS_EXCHANGE_PEERS + 1] = {};
    WS_UNROLL
    for (u32 i = 0; i <= WS_EXCHANGE_PEERS; ++i) {
        if (i >= step.fold.sources) continue;
        const u32 peer = step.order[i];
        parts[i] = peer == WS_EXCHANGE_OWN ? own : near[peer * lane.width + lane.column];
    }
    u64 sum = parts[0];
    WS_UNROLL
    for (u32 i = 1; i <= WS_EXCHANGE_PEERS; ++i)
        if (i < step.fold.sources) sum = ws_folded(step.fold, sum, parts[i]);
    return sum;
}

/// Back when all that the block gets in this step lies in memory; false: told to give up. `near`:
/// two by turns, of a word for each lane. `alone`: there is one peer.
template <int group, bool alone>
WS_INLINE bool ws_exchange_receive(const WsCommon& common, const WsExchangeStep& step,
                                   WsExchangeLane& lane, u64 bytes, u64* near, u32& turn) {
    const u32 number = ++lane.received;
    const WsPacket* const slot = ws_exchange_slot(common, lane.in, number);
    bool good = true;
    WS_ROLLED
    for (u32 begin = 0; begin < lane.count; begin += lane.width) {
        const u32 p = begin + lane.column;
        const bool mine = lane.active && p < lane.count;
        const u64 at = (u64)(lane.first + p) * WS_FOLD_PACKET;
        const u32 left = mine ? ws_rest<WS_FOLD_PACKET>(bytes, at) : 0;
        u64 taken = 0, own = 0;
        // On its way while the message is, too.
        if (mine && step.own && lane.peer == 0)
            own = ws_load_eight<true, true>(step.own + at, left);
        if (mine) good = ws_exchange_take(common, slot + p, number, taken) && good;
        if (step.takes && alone) {
            if (step.fold.sources == 2)
                taken = step.order[0] == WS_EXCHANGE_OWN ? ws_folded(step.fold, own, taken)
                                                         : ws_folded(step.fold, taken, own);
            if (mine) ws_store_eight<true>(step.fold.to + at, left, taken);
        } else if (step.takes) {
            u64* const these = near + (turn++ & 1) * ws_lanes();
            these[ws_lane()] = taken;
            ws_join<group == ws_whole_grid ? (int)ws_short_block : group>();
            if (mine && lane.peer == 0)
                ws_store_eight<true>(step.fold.to + at, left,
                                     ws_exchange_sum(step, lane, own, these));
        } else if (mine) {
            ws_store_eight<true>(step.to[lane.peer] + at, left, taken);
            if (step.own && lane.peer == 0) ws_store_eight<true>(step.fold.to + at, left, own);
        }
    }
    ws_join<group == ws_whole_grid ? (int)ws_short_block : group>();
    return good;
}

template <int group, bool alone>
WS_INLINE bool ws_exchange_with(const WsProgram& program, const WsCommon& common, const WsOp* ops,
                                const WsFolds* folds, const WsExchangeStep* steps, u64* near,
                                WsExchangeLane lane, WsStamps& stamps) {
    WsGridBarrier barrier = {ws_at<u32>(folds->met), 0};
    const u64 bytes = ops[0].bytes;
    const u32 step_count = program.step_count;
    u64 iteration = 0, stretches = program.stretches;
    u32 turn = 0;
    ws_stamp<ws_ll>(stamps, ws_have_met);
    for (u32 left = (u32)program.untimed;; left = ws_iterations(program, stretches--)) {
        iteration += left;
        WS_ROLLED
        for (; left; --left) {
            bool good = true;
            WS_ROLLED
            for (u32 s = 0; s < step_count && good; ++s) {
                if (lane.active) ws_exchange_send(common, steps[s], lane, bytes);
                good = ws_exchange_receive<group, alone>(common, steps[s], lane, bytes, near, turn);
            }
            if (group == ws_whole_grid) good = ws_meet_grid(barrier, common.stop) && good;
            if (!good) return false;
        }
        ws_stamp<ws_ll>(stamps, iteration);
        if (stretches == 0) return true;
    }
}

/// False: told to give up.
template <int group>
WS_INLINE bool ws_exchange_iterations(const WsProgram& program, const WsCommon& common,
                                      const WsStep* given, const WsOp* ops, const WsFolds* folds,
                                      WsStamps& stamps) {
    WS_SHARED WsExchangeStep steps[WS_EXCHANGE_STEPS];
    WS_SHARED u64 near[2 * WS_EXCHANGE_LANES];
    if (ws_lane() == 0) ws_read_exchange(program, given, ops, folds, steps);
    ws_sync();
    const WsExchangeLane lane = ws_exchange_lane<group>(ops, given[0].sends);
    const auto with = [&](auto alone) {
        return ws_exchange_with<group, decltype(alone)::value != 0>(program, common, ops, folds,
                                                                    steps, near, lane, stamps);
    };
    return given[0].sends == 1 ? with(WsExact<1>{}) : with(WsExact<0>{});
}
