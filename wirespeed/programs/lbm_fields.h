// Around the lattice Boltzmann program's steps: the initial state, the fields that people see, and
// the columns that neighbours exchange.
#pragma once

#include "lbm.h"

/// Density, momentum in x and y, and energy of each site, as out[4][ny][nx].
WS_KERNEL ws_lbm_moments(const double* from, u64 nx, u64 ny, u64 pitch, u64 plane, u64 first,
                         double* out) {
    ws_for_each(nx * ny, [=](u64 i) {
        const double* at = from + first + i / nx * pitch + i % nx;
        double f[WS_LBM_POPULATIONS];
        ws_lbm_load(f, at, plane);
        const WsLbmSums sums = ws_lbm_sums(f);
        out[i] = sums.density;
        out[i + nx * ny] = sums.x;
        out[i + 2 * nx * ny] = sums.y;
        out[i + 3 * nx * ny] = 0.5 * sums.square;
    });
}
WS_REGISTER(ws_lbm_moments)

/// The column of populations that crosses a side as number `crossing`: its pair, and how far from
/// the side it starts.
WS_INLINE void ws_lbm_crossing(u32 crossing, u32& pair, u32& layer) {
    const u32 depth = crossing < 7 ? 1 : crossing < 17 ? 2 : 3;
    const u32 base = crossing < 7 ? 0 : crossing < 17 ? 7 : 17;
    pair = (crossing - base) / depth + (crossing < 7 ? 3 : crossing < 17 ? 10 : 15);
    layer = (crossing - base) % depth;
}

/// Columns that leave a block to its left and right, as to[crossing][row].
WS_KERNEL ws_lbm_pack(const double* from, u64 nx, u64 ny, u64 pitch, u64 plane, u64 first,
                      double* to_left, double* to_right) {
    ws_for_each(WS_LBM_CROSSING * ny, [=](u64 i) {
        u32 pair, layer;
        ws_lbm_crossing((u32)(i / ny), pair, layer);
        const double* row = from + first + i % ny * pitch;
        to_left[i] = row[ws_lbm_place_in_pair(pair, true) * plane + layer];
        to_right[i] = row[ws_lbm_place_in_pair(pair, false) * plane + nx - 1 - layer];
    });
}
WS_REGISTER(ws_lbm_pack)

/// What the left and right neighbours packed, into the halo columns.
WS_KERNEL ws_lbm_unpack(double* to, u64 nx, u64 ny, u64 pitch, u64 plane, u64 first,
                        const double* from_left, const double* from_right) {
    ws_for_each(WS_LBM_CROSSING * ny, [=](u64 i) {
        u32 pair, layer;
        ws_lbm_crossing((u32)(i / ny), pair, layer);
        double* row = to + first + i % ny * pitch;
        row[ws_lbm_place_in_pair(pair, false) * plane - 1 - layer] = from_left[i];
        row[ws_lbm_place_in_pair(pair, true) * plane + nx + layer] = from_right[i];
    });
}
WS_REGISTER(ws_lbm_unpack)

/// sin(2 pi turns) for 0 <= turns < 1, the same on every machine.
WS_INLINE double ws_lbm_sine(double turns) {
    double angle = turns < 0.5 ? turns : turns - 1;  // now in [-1/2, 1/2)
    angle = angle > 0.25 ? 0.5 - angle : angle < -0.25 ? -0.5 - angle : angle;
    angle *= 6.283185307179586;
    double sum = 1;
    for (int n = 22; n > 0; n -= 2) sum = 1 - sum * angle * angle / (n * (n + 1));
    return angle * sum;
}

/// exp(x) for |x| up to 2.
WS_INLINE double ws_lbm_exponential(double x) {
    double sum = 1;
    for (int n = 28; n > 0; --n) sum = 1 + sum * x / n;
    return sum;
}

/// A number in [-1, 1) that looks random and depends on `seed` alone.
WS_INLINE double ws_lbm_noise(u64 seed) {
    u64 word = (seed + 1) * 0x9e3779b97f4a7c15ull;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    return (double)((word ^ (word >> 31)) >> 11) * 0x1p-52 - 1;
}

/// 0 up to t = 0, 1 from t = 1 on, smooth between.
WS_INLINE double ws_lbm_smooth(double t) {
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

/// How far a rough interface lies from its mean at column x: -1 to 1, with a period of `width`.
WS_INLINE double ws_lbm_roughness(u64 x, u64 width) {
    const u64 cells = width < 32 ? 1 : width / 16, cell = x / 16;
    const double share = ws_lbm_smooth((double)(x % 16) / 16);
    return (1 - share) * ws_lbm_noise(cell % cells) + share * ws_lbm_noise((cell + 1) % cells);
}

/// Fills the block whose site (0, 0) is (x0, y0) of a grid of `width` x `height` sites, in
/// equilibrium. A fluid of temperature `hot` lies below one of temperature `cold` (1: c_s^2), each
/// under its own weight; the interface is up to `rough` sites from the middle. On it goes a wave
/// sin(2 pi (waves_x x / width + waves_y y / height)) with these amplitudes; waves_x < width.
WS_KERNEL ws_lbm_init(double* to, u64 nx, u64 ny, u64 pitch, u64 plane, u64 first, u64 x0, u64 y0,
                      u64 width, u64 height, u64 waves_x, u64 waves_y, double density,
                      double velocity_x, double velocity_y, double temperature, double hot,
                      double cold, double gravity, double rough) {
    ws_for_each(nx * ny, [=](u64 i) {
        const u64 x = (x0 + i % nx) % width, y = (y0 + i / nx) % height;
        const u64 phase = (waves_x * x * height + waves_y * y * width) % (width * height);
        const double wave = ws_lbm_sine((double)phase / (double)(width * height));
        const double above = (double)y + 0.5 - 0.5 * (double)height;
        const double depth = 4;  // rows from one fluid to the other, each way
        const double from_interface = above - rough * ws_lbm_roughness(x, width);
        const double still = hot + (cold - hot) * ws_lbm_smooth(0.5 + 0.5 * from_interface / depth);
        const double weight = gravity * above * WS_LBM_R2 / (above < 0 ? hot : cold);
        double f[WS_LBM_POPULATIONS] = {};
        ws_lbm_relax(f, 0, ws_lbm_exponential(-weight) / still + density * wave,
                     velocity_x * wave * WS_LBM_R2, velocity_y * wave * WS_LBM_R2,
                     still - 1 + temperature * wave);
        ws_lbm_store(f, to + first + i / nx * pitch + i % nx, plane);
    });
}
WS_REGISTER(ws_lbm_init)
