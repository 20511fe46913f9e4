// A chain of links in memory, as host and kernels know it.
#pragma once

#include "kernels/integers.h"

/// One link has a whole line, so that no load brings the next one along.
#define WS_CHAIN_LINE 128

struct WsLink {
    u64 next;    ///< address of the next link, as the GPU reaches it that follows the chain
    u64 number;  ///< of this link in the chain, from 0
};
