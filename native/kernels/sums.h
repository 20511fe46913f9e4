// Numbers that programs add to on their way: doubles whose value says where they have been.
#pragma once

#include "kernels/platform.h"

/// Neighbours differ, so that a shifted buffer is found out.
WS_INLINE double ws_sum_at(u64 i, double start) { return start + (double)(i & 1023); }

WS_KERNEL ws_sums_fill(double* to, u64 count, double start) {
    ws_for_each(count, [=](u64 i) { to[i] = ws_sum_at(i, start); });
}

WS_KERNEL ws_sums_add(double* to, u64 count, double value) {
    ws_for_each(count, [=](u64 i) { to[i] += value; });
}

/// Lowers *first to the number of the first wrong double, if any is wrong.
WS_KERNEL ws_sums_check(const double* from, u64 count, double start, u64* first) {
    ws_for_each(count, [=](u64 i) {
        if (from[i] != ws_sum_at(i, start)) ws_atomic_min(first, i);
    });
}
