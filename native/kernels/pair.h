// The iterations of one send and one receive, the commonest program, with all that can be done
// before or after kept off the message's critical path: tables stay in registers, and what the next
// message needs is made ready while this one is in flight.
#pragma once

#include "kernels/channel.h"
#include "kernels/stamps.h"

/// How many threads share a message, and so what it takes to know that all have their part.
enum WsGroup {
    ws_no_pair,
    ws_one_lane,
    ws_one_warp,
    ws_short_block,
    ws_whole_block,
    ws_whole_grid
};

template <int protocol>
WS_INLINE bool ws_pair_send(const WsCommon& common, WsChannel& out, WsTma& tma) {
    if (protocol == ws_ll) {
        if (!ws_wait_slot(common, out)) return false;
        ws_ll_send<true>(out.slot, out.buffer, out.bytes, out.packets, out.number);
        return true;
    }
    ws_push<protocol>(out, tma);
    ws_sync();
    if (ws_lane() == 0) {
        ws_fence();
        ws_raise_flag(out);
    }
    return true;
}

template <int protocol>
WS_INLINE bool ws_pair_receive(const WsCommon& common, const WsChannel& in, WsTma& tma) {
    const bool good = ws_receive<protocol, true>(common, in, tma);
    ws_sync();
    return good;
}

/// What is left to do when the next message is in flight.
template <int protocol> WS_INLINE void ws_received(const WsCommon& common, WsChannel& in) {
    if (protocol == ws_ll && ws_lane() == 0) ws_give_credit(common, in);
    ws_advance(common, in);
}

/// False: told to give up.
template <int protocol>
WS_INLINE bool ws_pair_iterations(const WsProgram& program, const WsCommon& common,
                                  bool sends_first, const WsOp* ops, WsStamps& stamps) {
    WsTma tma;
    if (protocol == ws_tma || protocol == ws_tma_pull) ws_tma_begin(tma);
    ws_sync();
    WsChannel out = ws_channel(common, ops[sends_first ? 0 : 1], 0);
    WsChannel in = ws_channel(common, ops[sends_first ? 1 : 0], 0);
    u64 iteration = 0;
    u64 stretches = program.stretches;
    u32 left = (u32)program.untimed;
    bool first = true;
    ws_stamp<protocol>(stamps, ws_have_met);
    for (;;) {
        for (; left; --left, ++iteration) {
            if (sends_first) {
                if (!ws_pair_send<protocol>(common, out, tma)) return false;
                if (!first) ws_received<protocol>(common, in);
                first = false;
                ws_advance(common, out);
                if (!ws_pair_receive<protocol>(common, in, tma)) return false;
            } else {
                if (!ws_pair_receive<protocol>(common, in, tma)) return false;
                if (!ws_pair_send<protocol>(common, out, tma)) return false;
                ws_received<protocol>(common, in);
                ws_advance(common, out);
            }
        }
        ws_stamp<protocol>(stamps, iteration);
        if (stretches == 0) return true;
        left = ws_iterations(program, stretches--);
    }
}
