// Sums over a program's field, by which its checks see what a solver must conserve. They share no
// code with the solvers, whose kernels they judge.
#pragma once

#include "kernels/fields.h"

/// Numbers that are added up before their sum goes to the running total, whose rounding is carried
/// along (Kahan): no sum is off by more than 272 roundings of its terms, however many they are.
#define WS_CONSERVED_PIECE 256

/// Sums of `planes` planes, `plane` numbers apart, of rows of `width` numbers: each block of
/// threads leaves its part of plane p at to[p * room + block]; what has no block is zero.
template <class T>
WS_INLINE void ws_conserved_sums(const T* from, u64 width, u64 rows, u64 pitch, u64 planes,
                                 u64 plane, double* to, u64 room) {
    const u64 pieces = (width + WS_CONSERVED_PIECE - 1) / WS_CONSERVED_PIECE;
    const u64 block = ws_block(), blocks = ws_blocks() < room ? ws_blocks() : room;
    for (u64 p = 0; p < planes; ++p) {
        double sum = 0, excess = 0;
        for (u64 n = block; block < blocks && n < pieces * rows; n += blocks) {
            const u64 row = n / pieces, x = (n - row * pieces) * WS_CONSERVED_PIECE;
            const u64 left = width - x;
            const T* const at = from + p * plane + row * pitch + x;
            double piece = 0;
            ws_for_each_lane(left < WS_CONSERVED_PIECE ? (u32)left : WS_CONSERVED_PIECE,
                             [&](u32 i) { piece += (double)at[i]; });
            const double term = piece - excess, total = sum + term;
            excess = (total - sum) - term;
            sum = total;
        }
        sum = ws_block_sum(sum);
        if (ws_lane() == 0 && block < blocks) to[p * room + block] = sum;
        if (ws_lane() == 0 && block == 0)
            for (u64 other = blocks; other < room; ++other) to[p * room + other] = 0;
    }
}

WS_KERNEL ws_conserved_sums_f32(const float* from, u64 width, u64 rows, u64 pitch, u64 planes,
                                u64 plane, double* to, u64 room) {
    ws_conserved_sums(from, width, rows, pitch, planes, plane, to, room);
}
WS_REGISTER(ws_conserved_sums_f32)

WS_KERNEL ws_conserved_sums_f64(const double* from, u64 width, u64 rows, u64 pitch, u64 planes,
                                u64 plane, double* to, u64 room) {
    ws_conserved_sums(from, width, rows, pitch, planes, plane, to, room);
}
WS_REGISTER(ws_conserved_sums_f64)
