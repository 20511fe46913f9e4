// Elements combined by the kernel that receives them (WsFold): with LL while packets are taken out
// of their slots, so that a message never lies in memory; with stores when it has arrived, and with
// pull where it lies at its sender, each block its share.
//
// Why no thread reads what another has yet to write, or writes what another has yet to read:
//  - A place has the same owners in all that this rank does with it. LL: packet p of a send, a
//    receive or a fold is lane p's (modulo lanes). Stores: 16 bytes of a send or a fold are the
//    same thread's (ws_copy), and what is less than 16 bytes is the first block's.
//  - Where two places of a program overlap and are not the same, owners differ: the
//    step needs a barrier of the grid.
//  - What a peer writes: each block itself waits for the flags of all of the peer's blocks, or,
//    where places are the same or apart (WsFolds::own_shares), of the one that has its share. The
//    peer waits until all blocks here have begun the step (`ready_flags`), which is when they have
//    read what the steps before left there; earlier only where no fold of the step before has to do
//    with the place (is_free_early). LL's slots are free once credit is given, behind the barrier
//    that follows the folds.
//  - Pull: nothing that a step sends is written in it, and a rank leaves the step when all have
//    fetched that. Places overlap only where they are the same.
//  - A fold that its step leaves to the next one's send (WsFoldStep::sent) is over before a flag of
//    that step is raised, and nothing that the step receives comes to its places.
//  - Messages that land in two places by turns (`double_buffer_stride`) need no ready_flags. A
//    program that has them is one step, an exchange with the same peers, and its folds alone read
//    what lands. The place of message m was read last by the fold of m - 2. The peer's blocks sent
//    their m - 1 after it, and all of these have come here before m is sent.
#pragma once

#include "kernels/channel.h"
#include "kernels/elements.h"
#include "kernels/grid_barrier.h"

/// So many folds, and sources, are kept near the multiprocessor.
#define WS_NEAR_FOLDS 48

struct WsFoldTables {
    const WsFoldStep* steps;
    const WsFold* folds;
    const WsSource* sources;
    WsGridBarrier barrier;
    u64 double_buffer_stride;
    bool own_shares;
};

/// By every thread; a barrier must follow before they are read.
WS_INLINE WsFoldTables ws_fold_tables(const WsFolds* given) {
    WS_SHARED WsFoldStep steps[WS_NEAR_FOLDS];
    WS_SHARED WsFold folds[WS_NEAR_FOLDS];
    WS_SHARED WsSource sources[WS_NEAR_FOLDS];
    WsFoldTables tables = {ws_at<WsFoldStep>(given->steps), ws_at<WsFold>(given->folds),
                           ws_at<WsSource>(given->sources), {ws_at<u32>(given->met), 0},
                           given->double_buffer_stride,     given->own_shares != 0};
    if (given->step_count > WS_NEAR_FOLDS || given->fold_count > WS_NEAR_FOLDS ||
        given->source_count > WS_NEAR_FOLDS)
        return tables;
    for (u32 i = ws_lane(); i < given->step_count; i += ws_lanes()) steps[i] = tables.steps[i];
    for (u32 i = ws_lane(); i < given->fold_count; i += ws_lanes()) folds[i] = tables.folds[i];
    for (u32 i = ws_lane(); i < given->source_count; i += ws_lanes())
        sources[i] = tables.sources[i];
    return {steps, folds, sources, tables.barrier, tables.double_buffer_stride, tables.own_shares};
}

/// Where the message of this number lies at the receiver, by stores.
WS_INLINE u64 ws_landing(const WsFoldTables& tables, const WsOp& op, u32 number) {
    return op.operand + (number & 1) * tables.double_buffer_stride;
}

template <class Element> union WsEight {
    u64 bits;
    Element elements[8 / sizeof(Element)];
};

template <class Element> WS_INLINE u64 ws_eight_combined(u64 a, u64 b, u64 operation) {
    WsEight<Element> one, other, result;
    one.bits = a;
    other.bits = b;
    result.bits = 0;
    WS_UNROLL
    for (u32 i = 0; i < 8 / sizeof(Element); ++i)
        ws_round(ws_combined(ws_number(one.elements[i]), ws_number(other.elements[i]), operation),
                 result.elements[i]);
    return result.bits;
}

WS_SELDOM u64 ws_eight_of_any_type(u64 a, u64 b, u32 type, u32 operation) {
    u64 result = 0;
    ws_with_type(type, [&](auto element) {
        result = ws_eight_combined<decltype(element)>(a, b, operation);
    });
    return result;
}

/// 8 bytes of whole elements; the commonest kind by itself.
WS_INLINE u64 ws_folded(const WsFold& fold, u64 a, u64 b) {
    if (fold.type == 0 && fold.operation == ws_sum) return ws_eight_combined<float>(a, b, ws_sum);
    return ws_eight_of_any_type(a, b, fold.type, fold.operation);
}

/// Up to 8 bytes of memory, and back.
template <bool words, bool own> WS_INLINE u64 ws_load_eight(u64 place, u32 left) {
    const WsPacket packet = ws_pack<words, own>(ws_at<u8>(place), left, 0);
    return packet.word[0] | (u64)packet.word[1] << 32;
}
template <bool words> WS_INLINE void ws_store_eight(u64 place, u32 left, u64 bits) {
    ws_unpack<words>(ws_at<u8>(place), left, {{(u32)bits, (u32)(bits >> 32), 0}, 0});
}

// ---- LL ----

/// This lane's packets `first`, `first` + lanes, ... of a source; false: told to give up.
template <bool words, u32 at_once>
WS_INLINE bool ws_ll_take(const WsCommon& common, const WsSource& source, const WsOp* ops,
                          u32 iteration, u64 bytes, u32 first, u32 count, u64* taken) {
    const u32 lanes = ws_lanes();
    if (source.message == WS_IN_MEMORY) {
        WS_UNROLL
        for (u32 k = 0; k < at_once; ++k) {
            const u64 at = (u64)(first + k * lanes) * WS_FOLD_PACKET;
            if (first + k * lanes < count)
                taken[k] = ws_load_eight<words, true>(source.place + at,
                                                      ws_rest<WS_FOLD_PACKET>(bytes, at));
        }
        return true;
    }
    const WsChannel channel = ws_channel(common, ops[source.message], iteration);
    return ws_spin(common.stop, [&] {
        bool all = true;
        WsPacket packets[at_once] = {};
        WS_UNROLL
        for (u32 k = 0; k < at_once; ++k)
            if (first + k * lanes < count)
                packets[k] = ws_load_packet(channel.slot + first + k * lanes);
        WS_UNROLL
        for (u32 k = 0; k < at_once; ++k) {
            if (first + k * lanes < count) all = all && packets[k].flag == channel.number;
            taken[k] = packets[k].word[0] | (u64)packets[k].word[1] << 32;
        }
        return all;
    });
}

template <bool words, u32 at_once>
WS_INLINE bool ws_ll_fold_some(const WsCommon& common, const WsFold& fold, const WsSource* sources,
                               const WsOp* ops, u32 iteration, u32 count) {
    const u32 lanes = ws_lanes();
    for (u32 first = ws_lane(); first < count; first += at_once * lanes) {
        u64 sum[at_once] = {}, next[at_once] = {};
        if (!ws_ll_take<words, at_once>(common, sources[0], ops, iteration, fold.bytes, first,
                                        count, sum))
            return false;
        WS_ROLLED
        for (u32 s = 1; s < fold.sources; ++s) {
            if (!ws_ll_take<words, at_once>(common, sources[s], ops, iteration, fold.bytes, first,
                                            count, next))
                return false;
            WS_UNROLL
            for (u32 k = 0; k < at_once; ++k) sum[k] = ws_folded(fold, sum[k], next[k]);
        }
        WS_UNROLL
        for (u32 k = 0; k < at_once; ++k) {
            const u64 at = (u64)(first + k * lanes) * WS_FOLD_PACKET;
            if (first + k * lanes < count)
                ws_store_eight<words>(fold.to + at, ws_rest<WS_FOLD_PACKET>(fold.bytes, at),
                                      sum[k]);
        }
    }
    return true;
}

/// So many sources are waited for together: one after the other, each costs its own way from
/// memory.
#define WS_SOURCES_AT_ONCE 8

/// Of at most one packet a lane.
template <bool words>
WS_INLINE bool ws_ll_fold_together(const WsCommon& common, const WsFold& fold,
                                   const WsSource* sources, const WsOp* ops, u32 iteration,
                                   u32 count) {
    const u32 lane = ws_lane();
    if (lane >= count) return true;
    const u64 at = (u64)lane * WS_FOLD_PACKET;
    const u32 left = ws_rest<WS_FOLD_PACKET>(fold.bytes, at);
    u64 taken[WS_SOURCES_AT_ONCE] = {};
    WS_UNROLL
    for (u32 s = 0; s < WS_SOURCES_AT_ONCE; ++s)
        if (s < fold.sources && sources[s].message == WS_IN_MEMORY)
            taken[s] = ws_load_eight<words, true>(sources[s].place + at, left);
    const bool there = ws_spin(common.stop, [&] {
        WsPacket packets[WS_SOURCES_AT_ONCE] = {};
        u32 numbers[WS_SOURCES_AT_ONCE] = {};
        WS_UNROLL
        for (u32 s = 0; s < WS_SOURCES_AT_ONCE; ++s) {
            if (s >= fold.sources || sources[s].message == WS_IN_MEMORY) continue;
            const WsChannel channel = ws_channel(common, ops[sources[s].message], iteration);
            numbers[s] = channel.number;
            packets[s] = ws_load_packet(channel.slot + lane);
        }
        bool all = true;
        WS_UNROLL
        for (u32 s = 0; s < WS_SOURCES_AT_ONCE; ++s) {
            if (s >= fold.sources || sources[s].message == WS_IN_MEMORY) continue;
            all = all && packets[s].flag == numbers[s];
            taken[s] = packets[s].word[0] | (u64)packets[s].word[1] << 32;
        }
        return all;
    });
    if (!there) return false;
    u64 sum = taken[0];
    WS_UNROLL
    for (u32 s = 1; s < WS_SOURCES_AT_ONCE; ++s)
        if (s < fold.sources) sum = ws_folded(fold, sum, taken[s]);
    ws_store_eight<words>(fold.to + at, left, sum);
    return true;
}

template <bool words>
WS_INLINE bool ws_ll_fold(const WsCommon& common, const WsFold& fold, const WsSource* sources,
                          const WsOp* ops, u32 iteration) {
    const u32 count = (u32)((fold.bytes + WS_FOLD_PACKET - 1) / WS_FOLD_PACKET);
    if (count <= ws_lanes() && fold.sources > 2 && fold.sources <= WS_SOURCES_AT_ONCE)
        return ws_ll_fold_together<words>(common, fold, sources, ops, iteration, count);
    if (count <= ws_lanes())
        return ws_ll_fold_some<words, 1>(common, fold, sources, ops, iteration, count);
    return ws_ll_fold_some<words, WS_AT_ONCE>(common, fold, sources, ops, iteration, count);
}

// ---- stores ----

/// This thread's share, in the places where ws_copy() has it; of what does not lie on 16 bytes one
/// block does all. `theirs`: a second place of the result; 0: there is none.
template <bool pulls>
WS_INLINE void ws_fold_share(const WsFoldTables& tables, const WsFold& fold, const WsOp* ops,
                             u32 iteration, u64 theirs = 0) {
    constexpr u32 at_once = 4;
    const auto place_of = [&](u32 s) {
        const WsSource& source = tables.sources[fold.first + s];
        if (source.message == WS_IN_MEMORY || !(pulls || tables.double_buffer_stride))
            return source.place;
        const WsOp& op = ops[source.message];
        if (pulls) return op.theirs;
        return ws_landing(tables, op, ws_number_of(op, iteration));
    };
    u64 places = fold.to | theirs;
    for (u32 s = 0; s < fold.sources; ++s) places |= place_of(s);
    const u64 whole = (places & 15) == 0 ? fold.bytes / 16 : 0, threads = ws_threads();
    for (u64 first = ws_thread(); first < whole; first += at_once * threads) {
        Ws16 sum[at_once] = {}, next[at_once] = {};
        const auto load = [&](u32 s, Ws16* loaded) {
            const Ws16* const from = ws_at<Ws16>(place_of(s)) + first;
            WS_UNROLL
            for (u32 k = 0; k < at_once; ++k)
                if (first + k * threads < whole) loaded[k] = ws_load16(from + k * threads);
        };
        // Nothing waits for the first source before the second is on its way, too.
        load(0, sum);
        WS_ROLLED
        for (u32 s = 1; s < fold.sources; ++s) {
            load(s, next);
            WS_UNROLL
            for (u32 k = 0; k < at_once; ++k)
                sum[k] = {ws_folded(fold, sum[k].low, next[k].low),
                          ws_folded(fold, sum[k].high, next[k].high)};
        }
        const auto store = [&](u64 place) {
            Ws16* const to = ws_at<Ws16>(place) + first;
            WS_UNROLL
            for (u32 k = 0; k < at_once; ++k)
                if (first + k * threads < whole) ws_store16(to + k * threads, sum[k]);
        };
        if (theirs) store(theirs);
        store(fold.to);
    }
    WS_ROLLED
    for (u64 at = whole * 16 + 8 * ws_thread(); at < fold.bytes; at += 8 * threads) {
        const u32 left = ws_rest<8>(fold.bytes, at);
        u64 sum = ws_load_eight<false, false>(place_of(0) + at, left);
        WS_ROLLED
        for (u32 s = 1; s < fold.sources; ++s)
            sum = ws_folded(fold, sum, ws_load_eight<false, false>(place_of(s) + at, left));
        ws_store_eight<false>(fold.to + at, left, sum);
        if (theirs) ws_store_eight<false>(theirs + at, left, sum);
    }
}

// ---- both ----

/// All blocks that do this program's work have come here, and see what the others wrote before.
/// False on some thread of a block: told to give up.
template <int protocol> WS_INLINE bool ws_meet(WsFoldTables& tables, const u32* stop) {
    if (protocol != ws_ll) return ws_meet_grid(tables.barrier, stop);
    ws_sync();
    return true;
}

/// `count` folds of a step. `ops`: of the step.
template <int protocol, bool words>
WS_INLINE bool ws_do_folds(WsFoldTables& tables, const WsCommon& common, const WsFold* folds,
                           u32 count, bool needs_grid_barrier, const WsOp* ops, u32 iteration) {
    bool good = true;
    for (u32 i = 0; i < count; ++i) {
        if (needs_grid_barrier && !ws_meet<protocol>(tables, common.stop)) good = false;
        if (protocol != ws_ll)
            ws_fold_share<ws_pulls(protocol)>(tables, folds[i], ops, iteration);
        else if (good)
            good = ws_ll_fold<words>(common, folds[i], tables.sources + folds[i].first, ops,
                                     iteration);
    }
    return good;
}
