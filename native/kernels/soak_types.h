// What the host hands to the kernels of a soak: the same structures on both sides.
#pragma once

#include "kernels/integers.h"

/// A place that messages of one transfer are sent from, or received into: two places take turns.
struct WsSoakPlace {
    u64 at, bytes;
    u64 base;       ///< of its content, which names the sender and the place in its buffer
    u64 iteration;  ///< of what arrives here next, or of what lies here to be sent
    u64 other;      ///< number of the place that it takes turns with
    u64 aside;      ///< room for one message, for planted faults; 0: none
    u64 pending;    ///< 1: what has arrived was wrong at the first look
    u64 first, wrong, unlike, found;  ///< of that look
};

/// A look at what has arrived, by all threads together: only atomic operations touch it.
struct WsSoakLook {
    u64 first;   ///< least number of a wrong element
    u64 unlike;  ///< bit i: not all wrong elements are those that bit i stands for (ws_soak_alike)
    u32 wrong;   ///< wrong elements
    u32 reserved[27];
};

enum WsSoakKind { ws_soak_damaged, ws_soak_late, ws_soak_stale, ws_soak_lost, ws_soak_kinds };

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
    u32 left;  ///< blocks that are at their end
    u32 reserved;
};
