// Waiting for what another processor writes, until the host wants the kernel to end.
#pragma once

#include "kernels/platform_wire.h"

/// Calls until(): true once it says so; false when the host wants the kernel to end, at which it
/// looks now and then.
template <class Until> WS_INLINE bool ws_spin(const u32* stop, Until until) {
    for (;;) {
        WS_ROLLED
        for (u32 tries = 0; tries < WS_PATIENCE; ++tries)
            if (until()) return true;
        ws_pause();
        if (ws_load_flag(stop) != 0) return ws_give_up();
    }
}
