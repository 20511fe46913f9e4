// What the host hands to the persistent kernel: the same structures on both sides.
#pragma once

#include "kernels/integers.h"

/// One transfer of an iteration, as one rank sees it. Words that a peer raises only grow (and
/// wrap).
struct WsOp {
    u64 mine;    ///< in this rank's send or receive buffer
    u64 theirs;  ///< in the peer's receive or send buffer
    u64 bytes;
    u64 ring;         ///< of LL packets, at the receiver
    u64 flags;        ///< at the receiver, one word for each block of the sender: what has arrived
    u64 ready_flags;  ///< at the sender, one for each block of the receiver: what may be
                      ///< overwritten
    u64 credit;       ///< at the sender: the last message taken out of its slot
    u32 before;       ///< transfers from this sender to this receiver before the launch
    u32 each;         ///< such transfers in an iteration
    u32 place;        ///< of this one among them, from 1
    u32 packets;
    /// Of work on the message. In programs that fold in one step: where messages land by turns
    /// (WsFolds).
    u64 operand;
    /// WsMessageWork: of a receive, when it has arrived; of a send, the same work put off until
    /// what arrived is sent on.
    u32 work;
    u32 reserved;
};

/// Its sends, then its receives, follow those of the step before.
struct WsStep {
    u32 sends, receives;
    u32 works;  ///< on what arrives
    u32 early;  ///< its receives may be posted as ready once the sends of the step before are out
    /// All sends, or all receives, are equally long, and any lane may have any part of them.
    u32 sends_alike, receives_alike;
    u32 soak_first, soak_checks, soak_fills;  ///< of the turn that follows (soak.h)
};

/// Ranks start and end a launch together: each raises a word at every peer.
struct WsPeer {
    u64 theirs, mine;
    u32 start;  ///< what the words read at the start of this launch, and one more at its end
    u32 reserved;
};

struct WsProgram {
    u64 steps, ops, peers;  ///< addresses of arrays
    u64 stamps;             ///< stretches + 2 times: at the begin, and around each stretch
    u64 progress;           ///< iterations done so far, now and then; in host memory
    u64 stop;               ///< not 0: give up; in host memory
    u64 finished;           ///< counts blocks that are at their end
    u64 gathered;           ///< counts blocks at the end of a sample
    u64 moved;  ///< two words, by turns where work lags: count blocks at the end of a step, where a
                ///< gate is told of it
    u64 ready, arrived;  ///< a gate's words (gate.h); 0: no other kernel takes part
    u64 soak;            ///< address of a WsSoak, of kernels that check messages
    /// `untimed` iterations, and then so many stretches of `each`. Of the last `timed` ones,
    /// `parts` in a row make a sample, and the last of them has `rest` iterations.
    u64 untimed, each, stretches, timed;
    u64 show_after;  ///< ticks between two reports of progress to the host, at least
    u32 step_count, op_count, peer_count;
    u32 slots;  ///< of a ring, a power of two
    u32 slot_packets;
    u32 guarded;  ///< wait before a send until the receiver is at that step
    u32 place;    ///< LL: the block that does it all; where it runs matters
    u32 counters[4];
    u32 steps_before;  ///< steps of this gate before the launch
    u32 work_lags;     ///< a step may begin while the gate's work of the one before still runs
    u32 defers_work;   ///< all work can be done when its message is sent on
    u32 parts, rest;
};

/// By which kernels in another stream are ordered with the transfers (gate.h).
struct WsGate {
    u64 arrived;  ///< address of a word: the transfers of so many steps are done
    u64 ready;    ///< address of a word: so many steps' edges may be sent
    u64 stop;     ///< address of a word: not 0, give up
    u32 step;     ///< of the launch that runs, or of the next one
    u32 edges;    ///< tiles at the edge that this launch has done
    u32 left;     ///< blocks that are at their end
    u32 reserved;
};

/// Messages up to so many bytes are sent together.
#define WS_SHORT_SEND (1u << 20)

/// So many transfers and steps are kept near the multiprocessor.
#define WS_NEAR 48

/// The sender pushes (LL, stores, TMA) or the receiver pulls (loads, TMA).
enum WsProtocol { ws_ll, ws_stores, ws_tma, ws_pull, ws_tma_pull };

/// ws_fold_work: an LL message that a fold takes out of its slot, in place of the receive.
/// ws_list_work: of a send, blocks that lie scattered; the operand is the address of a WsPieceList.
/// ws_made_work: of a send by stores, what the fold whose number is the operand makes on the way.
enum WsMessageWork { ws_no_work, ws_add_work, ws_fold_work, ws_list_work, ws_made_work };

/// What each double of a message is changed by.
struct WsChange {
    u64 operand;  ///< the bits of a double
    u32 work;     ///< WsMessageWork
};

/// How two elements are combined; ws_first: the result is the first one.
enum WsReduction : u64 { ws_sum, ws_max, ws_min, ws_first };

/// Elements combined from several sources, in their order: to = s0 op s1 op s2 ...; of one source a
/// copy.
struct WsFold {
    u64 to, bytes;
    u32 first, sources;   ///< in the array of sources
    u32 type, operation;  ///< as ws_elements_combine takes them
};

#define WS_IN_MEMORY 0xffffffffu

struct WsSource {
    u64 place;    ///< in memory
    u32 message;  ///< LL: of this op of the step; WS_IN_MEMORY: it lies in its place
    u32 reserved;
};

/// Its folds follow those of the step before.
struct WsFoldStep {
    u32 meanwhile;  ///< that need nothing of what the step receives; they come first
    u32 after;
    u32 needs_grid_barrier;  ///< blocks must wait for each other before each fold and after the
                             ///< last one
    u32 sent;  ///< stores: so many of the last ones are made while the next step sends them
};

/// The second argument of kernels that fold.
struct WsFolds {
    u64 steps, folds, sources;  ///< addresses of arrays
    /// Stores: messages land in two places by turns, so many bytes from each other, and not where
    /// the program has them; 0: they do not.
    u64 double_buffer_stride;
    u64 met;  ///< address of a word for each block: to how many barriers of the grid it has come
    u32 step_count, fold_count, source_count;
    /// Stores: a block waits for the peers' blocks of its own number alone, which have the same
    /// shares of all messages; all blocks meet after each iteration.
    u32 own_shares;
};

/// What kernels/exchange.h has room for; it needs a lane for each peer.
#define WS_EXCHANGE_PEERS 7
#define WS_EXCHANGE_STEPS 2
#define WS_EXCHANGE_LANES 512

/// What an LL packet holds in a program that folds: a whole number of elements of every type.
#define WS_FOLD_PACKET 8
