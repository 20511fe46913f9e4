// The iterations of a program that exchanges messages of one length with the same few peers in each
// of its one or two steps, and combines what comes, by LL: of every message a thread has the same
// packets, at both ends. So it sends on what it has combined itself, and asks no other thread. The
// threads of one block, or of the whole grid, share the messages. No block of a grid begins an
// operation before the one before it has ended in all of them, with its whole result in memory.
//
// Two slots of a ring are enough, and no credit is needed: a thread sends the message of a step
// after it got that of the step before from the same peer, whose same thread had sent it after it
// had taken out its packets of the step before that.
#pragma once

#include "kernels/folds.h"
#include "kernels/short.h"

/// One message of each iteration, as all threads of a block see it.
struct WsExchanged {
    u64 ring;   ///< 0: nothing arrives, what is combined lies in memory
    u64 place;  ///< in memory: where it is sent from, goes to, or lies
    u32 number, each;
};

struct WsExchangeStep {
    WsExchanged out[WS_EXCHANGE_PEERS];
    WsExchanged in[WS_EXCHANGE_PEERS + 1];  ///< in the order in which they are combined
    u32 peers, sources;                     ///< `sources` 0: what comes goes to its place as it is
    u32 from_one_place;                     ///< to every peer the same
    u32 copies;                             ///< `own`, to the fold's place
    WsFold fold;
    u64 own;
};

struct WsExchange {
    WsExchangeStep steps[WS_EXCHANGE_STEPS];
    u32 step_count, packets;
    u64 bytes;
};

WS_INLINE WsExchanged ws_exchanged(const WsOp& op) {
    return {op.ring, op.mine, op.before + op.place, op.each};
}

/// By one thread; a barrier must follow.
WS_INLINE void ws_read_exchange(const WsProgram& program, const WsStep* steps, const WsOp* ops,
                                const WsFolds* given, WsExchange& exchange) {
    const WsFoldStep* const fold_steps = ws_at<WsFoldStep>(given->steps);
    const WsFold* folds = ws_at<WsFold>(given->folds);
    exchange.step_count = program.step_count;
    exchange.bytes = ops[0].bytes;
    exchange.packets = ops[0].packets;
    WS_ROLLED
    for (u32 s = 0; s < program.step_count; ++s) {
        WsExchangeStep& step = exchange.steps[s];
        step.peers = steps[s].sends;
        step.sources = step.copies = 0;
        step.from_one_place = 1;
        for (u32 i = 0; i < step.peers; ++i) {
            step.out[i] = ws_exchanged(ops[i]);
            step.in[i] = ws_exchanged(ops[step.peers + i]);
            if (step.out[i].place != step.out[0].place) step.from_one_place = 0;
        }
        if (fold_steps[s].meanwhile + fold_steps[s].after) {
            step.fold = *folds++;
            const WsSource* const sources = ws_at<WsSource>(given->sources) + step.fold.first;
            step.copies = step.fold.sources == 1;
            step.own = sources[0].place;
            if (!step.copies) step.sources = step.fold.sources;
            for (u32 i = 0; i < step.sources; ++i)
                step.in[i] = sources[i].message == WS_IN_MEMORY
                                 ? WsExchanged{0, sources[i].place, 0, 0}
                                 : ws_exchanged(ops[sources[i].message]);
        }
        ops += 2 * step.peers;
    }
}

/// This thread's packets of what one step sends, and of what it copies.
template <u32 most>
WS_INLINE void ws_exchange_send(const WsCommon& common, const WsExchange& exchange,
                                const WsExchangeStep& step, u32 iteration, u32 member,
                                u32 members) {
    WS_ROLLED
    for (u32 p = member; p < exchange.packets; p += members) {
        const u64 at = (u64)p * WS_FOLD_PACKET;
        const u32 left = ws_rest<WS_FOLD_PACKET>(exchange.bytes, at);
        WsPacket packets[most] = {};
        WS_UNROLL
        for (u32 i = 0; i < most; ++i) {
            if (i >= step.peers) continue;
            if (i && step.from_one_place)
                packets[i] = packets[0];
            else
                packets[i] = ws_pack<true, true>(ws_at<u8>(step.out[i].place) + at, left, 0);
        }
        WS_UNROLL
        for (u32 i = 0; i < most; ++i) {
            if (i >= step.peers) continue;
            const WsExchanged& out = step.out[i];
            packets[i].flag = out.number + iteration * out.each;
            const u64 slot = (u64)(packets[i].flag & common.last_slot) * common.slot_packets;
            ws_store_packet(ws_at<WsPacket>(out.ring) + slot + p, packets[i]);
        }
        if (step.copies)
            ws_store_eight<true>(step.fold.to + at, left,
                                 ws_load_eight<true, true>(step.own + at, left));
    }
}

/// Waits for this thread's packets of what comes; false: told to give up.
template <u32 most>
WS_INLINE bool ws_exchange_receive(const WsCommon& common, const WsExchange& exchange,
                                   const WsExchangeStep& step, u32 iteration, u32 member,
                                   u32 members) {
    const u32 count = step.sources ? step.sources : step.peers;
    WS_ROLLED
    for (u32 p = member; p < exchange.packets; p += members) {
        const u64 at = (u64)p * WS_FOLD_PACKET;
        const u32 left = ws_rest<WS_FOLD_PACKET>(exchange.bytes, at);
        const WsPacket* slots[most + 1] = {};
        u32 numbers[most + 1] = {};
        u64 taken[most + 1] = {};
        WS_UNROLL
        for (u32 i = 0; i <= most; ++i) {
            if (i >= count) continue;
            const WsExchanged& in = step.in[i];
            numbers[i] = in.number + iteration * in.each;
            const u64 slot = (u64)(numbers[i] & common.last_slot) * common.slot_packets;
            if (in.ring)
                slots[i] = ws_at<const WsPacket>(in.ring) + slot + p;
            else
                taken[i] = ws_load_eight<true, true>(in.place + at, left);
        }
        const bool there = ws_spin(common.stop, [&] {
            WsPacket packets[most + 1] = {};
            bool all = true;
            WS_UNROLL
            for (u32 i = 0; i <= most; ++i)
                if (slots[i]) packets[i] = ws_load_packet(slots[i]);
            WS_UNROLL
            for (u32 i = 0; i <= most; ++i) {
                if (!slots[i]) continue;
                all = all && packets[i].flag == numbers[i];
                taken[i] = packets[i].word[0] | (u64)packets[i].word[1] << 32;
            }
            return all;
        });
        if (!there) return false;
        if (step.sources) {
            u64 sum = taken[0];
            WS_UNROLL
            for (u32 i = 1; i <= most; ++i)
                if (i < count) sum = ws_folded(step.fold, sum, taken[i]);
            ws_store_eight<true>(step.fold.to + at, left, sum);
            continue;
        }
        WS_UNROLL
        for (u32 i = 0; i < most; ++i)
            if (i < count) ws_store_eight<true>(step.in[i].place + at, left, taken[i]);
    }
    return true;
}

template <int group, u32 most>
WS_INLINE bool ws_exchange_with(const WsProgram& program, const WsCommon& common,
                                const WsExchange& exchange, const WsFolds* folds,
                                WsStamps& stamps) {
    WsGridBarrier barrier = {ws_at<u32>(folds->met), 0};
    const u32 member = ws_member<group>();
    const u32 members = group == ws_whole_grid ? (u32)ws_threads() : ws_lanes();
    const u32 each = (u32)program.iterations_per_sample;
    u64 samples = program.samples + 1;
    u32 iteration = 0;
    ws_stamp<ws_ll>(stamps, ws_have_met);
    for (u32 left = (u32)program.untimed;; left = each) {
        WS_ROLLED
        for (; left; --left, ++iteration) {
            bool good = true;
            WS_ROLLED
            for (u32 s = 0; s < exchange.step_count && good; ++s) {
                const WsExchangeStep& step = exchange.steps[s];
                ws_exchange_send<most>(common, exchange, step, iteration, member, members);
                good =
                    ws_exchange_receive<most>(common, exchange, step, iteration, member, members);
            }
            if (group == ws_whole_grid)
                good = ws_meet_grid(barrier, common.stop) && good;
            else
                ws_join<group>();
            if (!good) return false;
        }
        ws_stamp<ws_ll>(stamps, iteration);
        if (--samples == 0) return true;
    }
}

/// False: told to give up.
template <int group>
WS_INLINE bool ws_exchange_iterations(const WsProgram& program, const WsCommon& common,
                                      const WsStep* steps, const WsOp* ops, const WsFolds* folds,
                                      WsStamps& stamps) {
    WS_SHARED WsExchange exchange;
    if (ws_lane() == 0) ws_read_exchange(program, steps, ops, folds, exchange);
    ws_sync();
    if (exchange.steps[0].peers == 1)
        return ws_exchange_with<group, 1>(program, common, exchange, folds, stamps);
    return ws_exchange_with<group, WS_EXCHANGE_PEERS>(program, common, exchange, folds, stamps);
}
