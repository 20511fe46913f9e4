// Whole iterations of a program by one launch of a persistent kernel: its blocks move data between
// this rank's memory and the peers', signal them by flags, and wait for what the peers send.
// Protocols:
//  LL         low latency: data and flag in one store of 16 bytes, through a ring of slots at the
//             receiver; no fence on the critical path; one block, or several where
//             exchanges with the same peers are all there is (exchange.h)
//  stores     straight into the receiver's buffer, then a fence and one flag for each block
//  TMA        the same, copied by the bulk copy engine (TMA) of each multiprocessor
//  pull       the flags say that the sender is there, and the receiver's blocks fetch the message
//  TMA-pull   the same by the bulk copy engines
// A rank's next step begins when all that it receives in this one lies in its buffer; of long
// messages that are combined, a block's (WsFolds::own_shares).
//
// Why it is right, in the terms of PTX's memory model. A flag is raised by one thread after its
// block's barrier and a fence of the whole system (ws_fence), or by a release store; its reader
// waits with an acquire load. Barriers of a block are causality order for all its threads, so:
//  - start: what earlier kernels of a rank (stream order) did with its buffers and words comes
//    before what its peers do there in this launch; at the end of a pull the other way round;
//  - stores, TMA: the sender's writes come before the flag, and the receiver's reads after it;
//  - pull: the flag says that the sender's earlier kernels (stream order) have filled the buffer;
//    nobody writes to it before `finished` has been counted up, after the last read and a fence;
//  - pull into a buffer that is sent from: a reader says by ready_flags that it has fetched its
//    share, and the owner goes on when all have;
//  - ready_flags, credit: the receiver's reads of what may be overwritten come before the store
//    that releases, and the sender's next writes after its acquiring load. A relaxed store would do
//    on today's chips, whose loads are over when their values are used; the model does not say so;
//  - LL: data and flag are one access of 16 bytes (or each half has its flag), so nothing needs an
//    order but the reuse of a slot, which credit gives.
// Words only grow; they are compared by signed difference, so none may stay 2^31 behind: the host
// raises those that no protocol in use has raised (Mailbox::raise).
#pragma once

#include "kernels/channel.h"
#include "kernels/exchange.h"
#include "kernels/folds.h"
#include "kernels/pair.h"
#include "kernels/short.h"
#include "kernels/stamps.h"

/// Does a launch by this protocol put its work off?
template <int protocol> WS_INLINE bool ws_defers_work(const WsProgram& program) {
    return protocol == ws_stores && program.defers_work;
}

/// `due`: work put off is done on the way.
template <int protocol, bool words, bool own, u32 payload>
WS_INLINE bool ws_send(const WsCommon& common, const WsChannel& channel, WsTma& tma, u32* known,
                       bool due) {
    if (protocol == ws_ll) {
        if (!ws_wait_slot_together(common, channel, known)) return false;
        ws_ll_send<words, own, payload>(channel.slot, channel.buffer, channel.bytes,
                                        channel.packets, channel.number);
    } else if (!ws_pulls(protocol)) {
        if (due && channel.change.work != ws_no_work)
            ws_change<false, true>(channel.theirs, channel.mine, channel.bytes, channel.change,
                                   ws_thread(), ws_threads());
        else if (protocol == ws_stores && channel.change.work == ws_list_work)
            ws_push_list(channel);
        else
            ws_push<protocol>(channel, tma);
    }
    return true;
}

/// Work on what lies in a channel's buffer. Every thread of the block.
template <int protocol> WS_INLINE void ws_change_in_place(const WsChannel& channel) {
    if (channel.change.work == ws_no_work) return;
    if (protocol == ws_ll)
        ws_change<true, false>(channel.mine, channel.mine, channel.bytes, channel.change, ws_lane(),
                               ws_lanes());
    else
        ws_change<false, false>(channel.mine, channel.mine, channel.bytes, channel.change,
                                ws_thread(), ws_threads());
}

/// By one thread, after a fence, which costs as much as all the words: peers may write what the
/// receives from `from` to `to` bring.
WS_INLINE void ws_post_ready(const WsCommon& common, const WsOp* ops, u32 from, u32 to,
                             u32 iteration) {
    for (u32 i = from; i < to; ++i) {
        const WsChannel channel = ws_channel(common, ops[i], iteration);
        ws_store_flag(channel.ready_flags + ws_block(), channel.number);
    }
}

/// Is this the last block to end the step? Each moves a share of a message, and none goes on by two
/// steps before the gate's kernels have been told.
WS_INLINE bool ws_last_moved(const WsProgram& program, u32 step) {
    u32* const moved = ws_at<u32>(program.moved) + (step & program.work_lags);
    if (ws_atomic_add(moved, 1) != (u32)ws_blocks() - 1) return false;
    *moved = 0;
    return true;
}

/// Checks no message; soak_between.h has what does.
struct WsNoSoak {
    typedef WsNoShortSoak Short;

    static WS_MEMBER void begin(const WsProgram&, const WsStep*) {}
    static WS_MEMBER void turn_after(const WsStep&) {}
    static WS_MEMBER void end(const WsProgram&) {}
};

/// One iteration of any steps; false: told to give up. `known`: of each op's channel, for LL.
/// `last`: none follows in this launch. `folding`: with what `tables` say. `Soak`: checks what the
/// step before has brought while its own messages are on their way.
template <int protocol, bool words, bool own, bool folding = false, class Soak = WsNoSoak>
WS_INLINE bool ws_any_iteration(const WsProgram& program, const WsCommon& common,
                                const WsStep* steps, const WsOp* first_ops, u32* known,
                                u32 iteration, bool last, WsTma& tma, u32* stopped,
                                WsFoldTables* tables = nullptr) {
    constexpr u32 payload = folding ? WS_FOLD_PACKET : WS_PACKET_BYTES;
    const WsOp* ops = first_ops;
    const WsFold* folds = folding ? tables->folds : nullptr;
    const u32 count = program.step_count;
    const bool posts_ready = protocol != ws_ll && !ws_pulls(protocol) && common.guarded;
    const bool defers_work = !folding && ws_defers_work<protocol>(program);
    const bool own_shares = folding && protocol == ws_stores && tables->own_shares;
    for (u32 s = 0; s < count; ++s) {
        const u32 sends = steps[s].sends, all = sends + steps[s].receives;
        const auto channel = [&](u32 i) {
            WsChannel found = ws_channel(common, ops[i], iteration);
            if (folding && protocol == ws_stores && tables->double_buffer_stride)
                found.theirs = ws_landing(*tables, ops[i], found.number);
            return found;
        };
        const u32 step = program.steps_before + iteration * count + s;
        const bool begins = iteration == 0 && s == 0;
        bool good = true;
        if (program.ready) {
            good = ws_wait_word(ws_at<u32>(program.ready), step - program.work_lags, common.stop);
            ws_sync();
        }
        if (posts_ready && (begins || !steps[s].early) && ws_lane() == 0) {
            ws_release_fence();
            ws_post_ready(common, ops, sends, all, iteration);
        }
        if (posts_ready && sends) {
            good = ws_wait_all(ops, sends, iteration, true, common.stop, own_shares) && good;
            ws_sync();
        }
        const bool sends_alike =
            steps[s].sends_alike && (protocol == ws_ll || (protocol == ws_stores && !defers_work &&
                                                           ops[0].bytes <= WS_SHORT_SEND));
        if (sends_alike && protocol == ws_ll) {
            for (u32 i = 0; i < sends && good; ++i)
                good = ws_wait_slot_together(common, channel(i), known + i);
            if (good) ws_ll_send_all<words, own, payload>(sends, channel);
        } else if (sends_alike && good) {
            ws_push_all(sends, channel);
        }
        for (u32 i = 0; i < sends && good && !sends_alike; ++i) {
            if constexpr (folding && protocol == ws_stores) {
                if (ops[i].work == ws_made_work) {
                    ws_fold_share<false>(*tables, tables->folds[ops[i].operand], ops, iteration,
                                         ops[i].theirs);
                    continue;
                }
            }
            good = ws_send<protocol, words, own, payload>(common, channel(i), tma,
                                                          protocol == ws_ll ? known + i : known,
                                                          defers_work && !begins);
        }
        if (sends && protocol != ws_ll) {
            ws_sync();
            if (ws_lane() == 0) {
                ws_fence();
                for (u32 i = 0; i < sends && good; ++i) ws_raise_flag(channel(i));
                const bool wraps = s + 1 == count;
                const u32 next = wraps ? 0 : s + 1;
                if (posts_ready && steps[next].early && !(last && wraps))
                    ws_post_ready(common, wraps ? first_ops : ops + all, steps[next].sends,
                                  steps[next].sends + steps[next].receives, iteration + wraps);
            }
        }
        if (good && !begins) Soak::turn_after(steps[s ? s - 1 : count - 1]);
        const WsFoldStep fold_step = folding ? tables->steps[s] : WsFoldStep{};
        const auto do_folds = [&](u32 each) {
            const bool done = ws_do_folds<protocol, words>(
                *tables, common, folds, each, fold_step.needs_grid_barrier, ops, iteration);
            folds += each;
            return done;
        };
        if (folding) good = do_folds(fold_step.meanwhile) && good;
        const bool receives_alike = protocol == ws_ll && steps[s].receives_alike;
        if (receives_alike && good)
            good = ws_ll_receive_all<words, payload>(
                all - sends, [&](u32 i) { return channel(sends + i); }, common.stop);
        const bool in_place = protocol != ws_ll && !ws_pulls(protocol);
        if (in_place || (folding && ws_pulls(protocol)))
            good =
                ws_wait_all(ops + sends, all - sends, iteration, false, common.stop, own_shares) &&
                good;
        for (u32 i = sends; i < all && good && !receives_alike && !in_place; ++i)
            if (!folding || ops[i].work != ws_fold_work)
                good = ws_receive<protocol, words, payload>(common, channel(i), tma);
        if (folding && protocol == ws_ll) good = do_folds(fold_step.after) && good;
        const auto fold_in_shares = [&] {
            if (!good) *stopped = 1;
            ws_sync();
            if (*stopped) return false;
            const u32 sent = protocol == ws_stores ? fold_step.sent : 0;
            good = do_folds(fold_step.after - sent);
            folds += sent;
            if (fold_step.needs_grid_barrier)
                good = ws_meet<protocol>(*tables, common.stop) && good;
            return true;
        };
        // Folds fetch, too: what they are made of is in use until then.
        if (folding && ws_pulls(protocol) && !fold_in_shares()) return false;
        if (ws_pulls(protocol) && common.guarded && all) {
            // What the receivers have not fetched yet may not be overwritten.
            ws_sync();
            if (ws_lane() == 0) {
                ws_fence();
                ws_post_ready(common, ops, sends, all, iteration);
            }
            if (good) good = ws_wait_all(ops, sends, iteration, true, common.stop);
        }
        if (!good) *stopped = 1;
        // In one buffer, what comes next may not overtake what another thread still sends.
        // Nor may work beside it change what a thread still sends.
        if (all > sends || common.guarded || folding || program.arrived) ws_sync();
        if (*stopped) return false;
        if (folding && protocol == ws_stores) {
            if (!fold_in_shares()) return false;
            if (!good) *stopped = 1;
            ws_sync();
            if (*stopped) return false;
        }
        if (protocol == ws_ll && ws_lane() == 0)
            for (u32 i = sends; i < all; ++i) ws_give_credit(common, channel(i));
        if (!folding && steps[s].works && !defers_work && !ws_pulls(protocol)) {
            for (u32 i = sends; i < all; ++i) ws_change_in_place<protocol>(channel(i));
            ws_sync();
        }
        if (program.arrived && ws_lane() == 0) {
            ws_fence();
            if (protocol == ws_ll || ws_last_moved(program, step))
                ws_release_flag(ws_at<u32>(program.arrived), step + 1);
        }
        ops += all;
        if (protocol == ws_ll) known += all;
    }
    if (own_shares) {
        if (!ws_meet<protocol>(*tables, common.stop)) *stopped = 1;
        ws_sync();
        if (*stopped) return false;
    }
    if (last) Soak::turn_after(steps[count - 1]);
    if (last && defers_work)
        for (u32 i = 0; i < steps[0].sends; ++i)
            ws_change_in_place<protocol>(ws_channel(common, first_ops[i], iteration));
    return true;
}

/// Every rank waits for its peers: `later` 0 before the first iteration, 1 after the last. It
/// raises its word at all before it waits for any, so that no order of peers makes ranks wait in a
/// circle.
WS_INLINE bool ws_rendezvous(const WsProgram& program, u32 later, bool raises, u32 lane, u32 lanes,
                             const u32* stop) {
    const WsPeer* peers = ws_at<WsPeer>(program.peers);
    if (raises)
        for (u32 i = lane; i < program.peer_count; i += lanes)
            ws_release_flag(ws_at<u32>(peers[i].theirs), peers[i].start + later);
    for (u32 i = lane; i < program.peer_count; i += lanes)
        if (!ws_wait_word(ws_at<u32>(peers[i].mine), peers[i].start + later, stop)) return false;
    return true;
}

/// Any program. `words`: messages lie on whole words; `own`: this kernel alone writes to them.
template <int protocol, bool words, bool own, bool folding, class Soak>
WS_INLINE bool ws_any_iterations(const WsProgram& program, const WsCommon& common,
                                 const WsStep* steps, const WsOp* ops, u32* known, WsStamps& stamps,
                                 u32* stopped, const WsFolds* folds) {
    WsTma tma;
    if (protocol == ws_tma || protocol == ws_tma_pull) ws_tma_begin(tma);
    WsFoldTables tables = {};
    if constexpr (folding) tables = ws_fold_tables(folds);
    ws_sync();
    u64 next = program.untimed, stretches = program.stretches;
    ws_stamp<protocol>(stamps, ws_have_met);
    for (u64 iteration = 0;; ++iteration) {
        if (iteration == next) {
            ws_stamp<protocol>(stamps, iteration);
            if (stretches == 0) return true;
            next += ws_iterations(program, stretches--);
        }
        const bool last = stretches == 0 && iteration + 1 == next;
        if (!ws_any_iteration<protocol, words, own, folding, Soak>(
                program, common, steps, ops, known, (u32)iteration, last, tma, stopped, &tables))
            return false;
    }
}

/// `group`: of a pair (pair.h), or ws_no_pair for any program.
template <int protocol, int group, bool words = false, bool own = false, bool folding = false,
          class Soak = WsNoSoak>
WS_INLINE void ws_run_program(const WsProgram* described, const WsFolds* folds = nullptr) {
    // The copy engines' room takes nearly all of a multiprocessor's memory.
    constexpr u32 near = protocol == ws_tma || protocol == ws_tma_pull ? WS_NEAR : 2 * WS_NEAR;
    WS_SHARED WsProgram program;
    WS_SHARED WsOp near_ops[near];
    WS_SHARED WsStep near_steps[near];
    WS_SHARED u32 known[near];  ///< of LL, whose transfers are all near
    WS_SHARED u32 stopped;
    if (ws_lane() == 0) {
        program = *described;
        stopped = 0;
    }
    ws_sync();
    const u32 leader = protocol == ws_ll ? program.place : 0;
    if (protocol == ws_ll && group != ws_whole_grid && (u32)ws_block() != leader) return;
    const WsOp* ops = ws_at<WsOp>(program.ops);
    const WsStep* steps = ws_at<WsStep>(program.steps);
    if (program.op_count <= near && program.step_count <= near) {
        for (u32 i = ws_lane(); i < program.op_count; i += ws_lanes()) {
            near_ops[i] = ops[i];
            // All before the launch has been consumed: the peers would not have started otherwise.
            known[i] = ops[i].before;
        }
        for (u32 i = ws_lane(); i < program.step_count; i += ws_lanes()) near_steps[i] = steps[i];
        ops = near_ops;
        steps = near_steps;
    }
    ws_sync();
    const WsCommon common = {ws_at<u32>(program.stop), program.slots - 1, program.slot_packets,
                             program.guarded, program.slots < 4 ? 1 : program.slots / 4};
    if (!ws_rendezvous(program, 0, (u32)ws_block() == leader, ws_lane(), ws_lanes(), common.stop))
        stopped = 1;
    ws_sync();
    if (stopped) return;
    WsStamps stamps = {(u32)ws_block() == leader && ws_lane() == 0,
                       ws_at<u32>(program.gathered),
                       0,
                       common.stop,
                       ws_at<u64>(program.stamps),
                       ws_at<u64>(program.progress),
                       0,
                       program.show_after};
    bool whole;
    Soak::begin(program, steps);
    if constexpr (group == ws_no_pair)
        whole = ws_any_iterations<protocol, words, own, folding, Soak>(
            program, common, steps, ops, known, stamps, &stopped, folds);
    else if constexpr (folding)
        whole = ws_exchange_iterations<group>(program, common, steps, ops, folds, stamps);
    else if constexpr (group == ws_whole_block)
        whole = ws_pair_iterations<protocol>(program, common, steps[0].sends > 0, ops, stamps);
    else
        whole = ws_short_iterations<group, typename Soak::Short>(program, common,
                                                                 steps[0].sends > 0, ops, stamps);
    Soak::end(program);
    if (!ws_pulls(protocol) || !whole) return;
    // A sender's buffer is in use until its receivers have fetched the last message.
    ws_sync();
    if (ws_lane() == 0) {
        ws_fence();
        if (ws_atomic_add(ws_at<u32>(program.finished), 1) == (u32)ws_blocks() - 1)
            ws_rendezvous(program, 1, true, 0, 1, common.stop);
    }
}

#define WS_PROGRAM_KERNEL(name, protocol, group) \
    WS_WIDE_KERNEL name(const WsProgram* program) { ws_run_program<protocol, group>(program); }
