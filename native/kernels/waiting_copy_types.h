// What the host hands to the kernel that waits for its doorbell: the same structures on both sides.
#pragma once

#include "kernels/integers.h"

/// So many transfers to one peer are kept near the multiprocessor.
#define WS_MOST_WAITING_TRANSFERS 64

struct WsWaitingTransfer {
    u64 to, from, bytes;
};

/// All messages to one peer, in their order. Words only grow (and wrap), and count messages to this
/// peer by whatever kernel or engine.
struct WsWaitingPeer {
    u64 doorbell;   ///< in host memory: so many messages may go
    u64 arrived;    ///< in host memory, at the receiver: so many have gone
    u64 done;       ///< the same for this rank's host, which sets it before the launch
    u64 counters;   ///< two words on the device, 0 before and after: blocks that are done with the
                    ///< message, and messages that all blocks are done with
    u64 transfers;  ///< address of an array: of one iteration
    u32 transfer_count;
    u32 reserved;
};

/// A soak's turns, in the order of an iteration's steps. Words count turns since the launch.
struct WsWaitingTurns {
    u64 soak;      ///< address of its WsSoak
    u64 steps;     ///< address of an array of WsStep, of which only the turns count
    u64 doorbell;  ///< in host memory: so many turns may come
    u64 done;      ///< in host memory: so many have ended
    u32 step_count;
    u32 reserved;
};
