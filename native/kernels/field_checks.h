// Checks of programs: comparison with a reference, and a transport's faults.
#pragma once

#include "kernels/gate.h"

/// Lowers *first to the number of the first word that differs, if any does: rows of `width` words
/// of 4 bytes, at every pitch_a words of `a` and every pitch_b of `b`.
WS_KERNEL ws_fields_compare(const u32* a, u64 pitch_a, const u32* b, u64 pitch_b, u64 width,
                            u64 rows, u64* first) {
    ws_for_each(width * rows, [=](u64 i) {
        const u64 row = i / width, x = i - row * width;
        if (a[row * pitch_a + x] != b[row * pitch_b + x]) ws_atomic_min(first, i);
    });
}

/// Does a fault show now? Always, or while the word is not 0.
WS_INLINE bool ws_shows(const u64* when) { return !when || *when; }

/// A fault of a transport, for tests: one bit of a byte that arrived is another one. With a gate it
/// comes before the step's own launch, once the step's transfers have arrived.
WS_KERNEL ws_fields_damage(const WsGate* gate, u8* at, const u64* when) {
    ws_gate_wait(gate);
    if (ws_thread() == 0 && ws_shows(when)) *at ^= 0x80;
}

/// And: what arrived is what had arrived an iteration earlier.
WS_KERNEL ws_fields_delay(const WsGate* gate, u8* arrived, u8* earlier, u64 bytes,
                          const u64* when) {
    ws_gate_wait(gate);
    ws_for_each(bytes, [=](u64 i) {
        const u8 now = arrived[i];
        if (ws_shows(when)) arrived[i] = earlier[i];
        earlier[i] = now;
    });
}

/// And: what a step had computed is as it was put aside before the step. No transfer is waited for.
WS_KERNEL ws_fields_keep(const WsGate*, const u8* from, u8* to, u64 bytes, const u64* when) {
    if (!ws_shows(when)) return;
    ws_for_each(bytes, [=](u64 i) { to[i] = from[i]; });
}
