// What the host hands to the kernels of a soak: the same structures on both sides.
#pragma once

#include "kernels/integers.h"

/// So many places take turns for the messages of a transfer: a message is looked at while the next
/// two steps' transfers run, and again a message later, and by then its sender may be ahead by two.
enum { ws_soak_places = 5 };

/// A place that messages of one transfer are sent from, or received into.
struct WsSoakPlace {
    u64 at, bytes;
    u64 base;       ///< of its content, which names the sender and the place in its buffer
    u64 iteration;  ///< of what arrives here next, or of what lies here to be sent; negative: a
                    ///< message that there never was
    u64 before;     ///< number of the place of the message before
    u64 aside;      ///< room for one message, for planted faults; 0: none
    u64 pending;    ///< 1: what has arrived was wrong at the first look
    u64 first, wrong, unlike, found;  ///< of that look
};

/// A look at what has arrived, by all threads together: only atomic operations touch it.
struct WsSoakLook {
    u64 first;   ///< least number of a wrong element
    u64 unlike;  ///< bit i: not all wrong elements are those that bit i stands for (ws_soak_alike)
    u64 wrong;   ///< wrong elements
    u64 reserved[13];
};

/// Planted alone: ws_soak_unseen, a message that the check passes by, and ws_soak_beyond, one that
/// is longer than it should be.
enum WsSoakKind {
    ws_soak_damaged,
    ws_soak_late,
    ws_soak_stale,
    ws_soak_lost,
    ws_soak_kinds,
    ws_soak_unseen = ws_soak_kinds,
    ws_soak_beyond
};

/// What is planted, one message in `every`.
struct WsSoakFault {
    u64 kind;   ///< WsSoakKind
    u64 every;  ///< 0: nothing is planted
    u64 seed;
    u64 end;  ///< nothing is planted from this iteration on
    u64 planted;
};

struct WsSoakFirst {
    u64 place, iteration, offset, kind;
    u64 lag;              ///< of a stale one: so many iterations old
    u64 expected, found;  ///< 8 bytes, or one where a message ends or lies off 8 bytes
};

struct WsSoak {
    u64 places, looks;  ///< addresses of arrays; a place has two looks
    u64 checked;        ///< messages that have a verdict
    u64 kinds[ws_soak_kinds];
    WsSoakFirst first;
    WsSoakFault fault;
    u32 left;     ///< blocks that are at their end
    u32 pending;  ///< places whose message was wrong at the first look
};
