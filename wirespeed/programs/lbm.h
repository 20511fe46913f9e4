// A thermal lattice Boltzmann method: D2Q37, fp64, propagate (pull) and collide in one kernel.
//
// A field is field[row][place][x]: `pitch` doubles a row, `plane` doubles a population in it, and
// site (0, 0) of the block at `first`. Three halo rows lie below and above the block, and, where
// the decomposition cuts x, three halo columns left and right in each row. A step reads one field
// and writes another. What a processor works on at a time so lies in a few pages of memory.
//
// Populations come in pairs of opposite velocities: 2p + 1 has the velocity of pair p below,
// 2p + 2 its opposite, 0 rests. Pairs are numbered by their velocity in x, so that those that cross
// a block's side follow each other.
//
// The equilibrium is the Hermite expansion to fourth order in density, velocity and temperature
// (Shan, Yuan and Chen, J. Fluid Mech. 550, 413, 2006), the collision BGK. A body force shifts the
// equilibrium's velocity and temperature (Sbragaglia et al., J. Fluid Mech. 628, 299, 2009), which
// adds exactly the force's momentum and work. A wall mirrors: what would cross it comes back with
// the y velocity reversed, so it is smooth, insulating, and loses no mass or energy.
#pragma once

#include "kernels/gate.h"
#include "kernels/platform.h"

/// Calls DO(pair, x velocity, y velocity), in the order of speeds, whose constants are shared.
#define WS_LBM_PAIRS(DO) \
    DO(3, 1, 0)          \
    DO(0, 0, 1)          \
    DO(4, 1, 1)          \
    DO(5, 1, -1)         \
    DO(10, 2, 0)         \
    DO(1, 0, 2)          \
    DO(11, 2, 1)         \
    DO(12, 2, -1)        \
    DO(6, 1, 2)          \
    DO(7, 1, -2)         \
    DO(13, 2, 2)         \
    DO(14, 2, -2)        \
    DO(15, 3, 0)         \
    DO(2, 0, 3)          \
    DO(16, 3, 1)         \
    DO(17, 3, -1)        \
    DO(8, 1, 3)          \
    DO(9, 1, -3)

#define WS_LBM_POPULATIONS 37
#define WS_LBM_HALO 3
/// Population-layers that cross a side.
#define WS_LBM_CROSSING 26
/// Sites of a tile.
#define WS_LBM_TILE 128
/// Most threads of a block, and how many such blocks are to fit a multiprocessor: 168 registers.
#define WS_LBM_THREADS 128
#define WS_LBM_BLOCKS 3
/// 1 / c_s^2.
#define WS_LBM_R2 (1.1969797703930744 * 1.1969797703930744)

/// What lies beyond a block's sides; where nothing is named, the block itself, periodically.
#define WS_LBM_COLUMNS 1u
#define WS_LBM_ROWS_BELOW 2u
#define WS_LBM_ROWS_ABOVE 4u
#define WS_LBM_WALL_BELOW 8u
#define WS_LBM_WALL_ABOVE 16u
/// And: what needs no halo is done from the top down. Steps take turns in that, so that a step
/// begins with what the last-level cache still has of the one before.
#define WS_LBM_DOWN 32u

/// A population's velocity in y.
WS_INLINE constexpr int ws_lbm_rise(int population) {
#define WS_LBM_RISE(pair, cx, cy)              \
    if (population == 2 * pair + 1) return cy; \
    if (population == 2 * pair + 2) return -cy;
    WS_LBM_PAIRS(WS_LBM_RISE)
#undef WS_LBM_RISE
    return 0;
}

/// Where it lies in a row: in the order of velocities in y, the fastest upwards first, so that what
/// crosses a block's side from one row is one piece.
WS_INLINE constexpr int ws_lbm_place(int population) {
    int place = 0;
    for (int other = 0; other < WS_LBM_POPULATIONS; ++other) {
        const int more = ws_lbm_rise(other) - ws_lbm_rise(population);
        place += more > 0 || (more == 0 && other < population);
    }
    return place;
}

/// The same for a pair that no compiler knows; of its second population.
WS_INLINE u32 ws_lbm_place_in_pair(u32 number, bool second) {
#define WS_LBM_PLACE(pair, cx, cy)                      \
    {                                                   \
        constexpr int one = ws_lbm_place(2 * pair + 1); \
        constexpr int two = ws_lbm_place(2 * pair + 2); \
        if (number == pair) return second ? two : one;  \
    }
    WS_LBM_PAIRS(WS_LBM_PLACE)
#undef WS_LBM_PLACE
    return 0;
}

/// A site's populations, from a field and into it.
WS_INLINE void ws_lbm_load(double* f, const double* site, u64 plane) {
    constexpr int rest = ws_lbm_place(0);
    f[0] = site[rest * plane];
#define WS_LBM_LOAD(pair, cx, cy)                                                         \
    {                                                                                     \
        constexpr int up = ws_lbm_place(2 * pair + 1), down = ws_lbm_place(2 * pair + 2); \
        f[2 * pair + 1] = site[up * plane];                                               \
        f[2 * pair + 2] = site[down * plane];                                             \
    }
    WS_LBM_PAIRS(WS_LBM_LOAD)
#undef WS_LBM_LOAD
}

WS_INLINE void ws_lbm_store(const double* f, double* site, u64 plane) {
    constexpr int rest = ws_lbm_place(0);
    site[rest * plane] = f[0];
#define WS_LBM_STORE(pair, cx, cy)                                                        \
    {                                                                                     \
        constexpr int up = ws_lbm_place(2 * pair + 1), down = ws_lbm_place(2 * pair + 2); \
        site[up * plane] = f[2 * pair + 1];                                               \
        site[down * plane] = f[2 * pair + 2];                                             \
    }
    WS_LBM_PAIRS(WS_LBM_STORE)
#undef WS_LBM_STORE
}

/// Weight of the velocities of that square.
WS_INLINE constexpr double ws_lbm_weight(int square) {
    return square == 0   ? 0.233150669132352502
           : square == 1 ? 0.107306091542219002
           : square == 2 ? 0.0576678598887948820
           : square == 4 ? 0.0142082161584507503
           : square == 5 ? 0.00535304900051377523
           : square == 8 ? 0.00101193759267357548
           : square == 9 ? 0.000245301027757717346
                         : 0.000283414252994198217;
}

struct WsLbmBlock {
    u64 nx, ny, pitch, plane, first, sides;
};

/// A rectangle of sites.
struct WsLbmTile {
    u32 x, y, width, height;
};

/// What a collision needs besides the populations: kick = tau g, warmth = tau (1 - tau) g^2 / 2.
struct WsLbmFluid {
    double omega, kick_x, kick_y, warmth;
};

/// Density, momentum, and sum of f c^2 (twice the energy).
struct WsLbmSums {
    double density, x, y, square;
};

WS_INLINE WsLbmSums ws_lbm_sums(const double* f) {
    WsLbmSums sums = {f[0], 0, 0, 0};
#define WS_LBM_ADD(pair, cx, cy)                                     \
    {                                                                \
        const double sum = f[2 * pair + 1] + f[2 * pair + 2];        \
        const double difference = f[2 * pair + 1] - f[2 * pair + 2]; \
        sums.density += sum;                                         \
        if (cx) sums.x = ws_fma(cx, difference, sums.x);             \
        if (cy) sums.y = ws_fma(cy, difference, sums.y);             \
        sums.square = ws_fma(cx * cx + cy * cy, sum, sums.square);   \
    }
    WS_LBM_PAIRS(WS_LBM_ADD)
#undef WS_LBM_ADD
    return sums;
}

/// f = keep f + share * equilibrium. v: velocity / c_s^2; theta: temperature / c_s^2 - 1.
///
/// With x = c . v and q = c^2 / c_s^2 the equilibrium of a pair is weight * (even +- odd),
/// even = a0 + a1 q + a2 q^2 + (b0 + b1 q) x^2 + x^4 / 24, odd = x (d0 + d1 q + x^2 / 6).
WS_INLINE void ws_lbm_relax(double* f, double keep, double share, double vx, double vy,
                            double theta) {
    const double u2 = ws_fma(vx, vx, vy * vy) * (1 / WS_LBM_R2);
    const double theta2 = theta * theta;
    const double a2 = 0.125 * theta2;
    const double a1 = ws_fma(theta, ws_fma(-0.25, u2, 0.5), -theta2);
    const double d1 = 0.5 * theta;
    const double b1 = 0.25 * theta;
    const double flow = ws_fma(-0.5, u2, 1.0);
    const double a0 = ws_fma(0.125 * u2, u2, ws_fma(theta, u2 - 1.0, flow + theta2));
    const double b0 = ws_fma(-1.5, theta, 0.5 * flow);
    const double d0 = ws_fma(-2.0, theta, flow);
    f[0] = ws_fma(keep, f[0], ws_lbm_weight(0) * share * a0);
#define WS_LBM_RELAX(pair, cx, cy)                                                        \
    {                                                                                     \
        constexpr int square = cx * cx + cy * cy;                                         \
        constexpr double q = square * WS_LBM_R2;                                          \
        const double part = ws_lbm_weight(square) * share;                                \
        const double a = part * ws_fma(q, ws_fma(q, a2, a1), a0);                         \
        const double b = part * ws_fma(q, b1, b0);                                        \
        const double d = part * ws_fma(q, d1, d0);                                        \
        const double x = cy == 0 ? cx * vx : cx == 0 ? cy * vy : ws_fma(cx, vx, cy * vy); \
        const double x2 = x * x;                                                          \
        const double even = ws_fma(x2, ws_fma(x2, part * (1 / 24.0), b), a);              \
        const double odd = x * ws_fma(x2, part * (1 / 6.0), d);                           \
        f[2 * pair + 1] = ws_fma(keep, f[2 * pair + 1], even + odd);                      \
        f[2 * pair + 2] = ws_fma(keep, f[2 * pair + 2], even - odd);                      \
    }
    WS_LBM_PAIRS(WS_LBM_RELAX)
#undef WS_LBM_RELAX
}

WS_INLINE void ws_lbm_collide(double* f, const WsLbmFluid& fluid) {
    const WsLbmSums sums = ws_lbm_sums(f);
    const double inverse = 1.0 / sums.density;
    const double ux = sums.x * inverse;
    const double uy = sums.y * inverse;
    const double agitation = ws_fma(sums.square, inverse, -ws_fma(ux, ux, uy * uy));
    const double theta = ws_fma(0.5 * WS_LBM_R2, agitation, fluid.warmth - 1.0);
    ws_lbm_relax(f, 1.0 - fluid.omega, fluid.omega * sums.density, (ux + fluid.kick_x) * WS_LBM_R2,
                 (uy + fluid.kick_y) * WS_LBM_R2, theta);
}

/// Where the population of a place lies at (x, y), perhaps beyond the block; `mirror`: the place of
/// the one with its y velocity reversed.
WS_INLINE u64 ws_lbm_beyond(const WsLbmBlock& block, int place, int mirror, int x, int y) {
    const int nx = (int)block.nx, ny = (int)block.ny;
    if (!(block.sides & WS_LBM_COLUMNS)) x += x < 0 ? nx : x >= nx ? -nx : 0;
    if (y < 0 && !(block.sides & WS_LBM_ROWS_BELOW)) {
        const bool wall = block.sides & WS_LBM_WALL_BELOW;
        place = wall ? mirror : place;
        y = wall ? -1 - y : y + ny;
    } else if (y >= ny && !(block.sides & WS_LBM_ROWS_ABOVE)) {
        const bool wall = block.sides & WS_LBM_WALL_ABOVE;
        place = wall ? mirror : place;
        y = wall ? 2 * ny - 1 - y : y - ny;
    }
    return place * block.plane + block.first + y * (long long)block.pitch + x;
}

/// One site's step. `beyond`: some of what it pulls lies beyond the block, and in no halo. The
/// arithmetic is one function's, so that no point depends on how the work is split.
template <bool beyond>
WS_INLINE void ws_lbm_site(const WsLbmBlock& block, const WsLbmFluid& fluid, const double* from,
                           double* to, u32 x, u32 y) {
    double f[WS_LBM_POPULATIONS];
    const long long plane = (long long)ws_opaque(block.plane);
    const long long pitch = (long long)ws_opaque(block.pitch);
    const u64 site = block.first + y * pitch + x;
    from += beyond ? 0 : site;
    to += site;
#define WS_LBM_PULL(pair, cx, cy)                                                                 \
    {                                                                                             \
        constexpr int number = 2 * pair + 1;                                                      \
        constexpr int mirror = cx == 0  ? number + 1                                              \
                               : cy > 0 ? number + 2                                              \
                               : cy < 0 ? number - 2                                              \
                                        : number;                                                 \
        constexpr int opposite = cx == 0 ? number : mirror + 1;                                   \
        constexpr int up = ws_lbm_place(number), down = ws_lbm_place(number + 1);                 \
        if constexpr (beyond) {                                                                   \
            constexpr int up_mirror = ws_lbm_place(mirror), down_mirror = ws_lbm_place(opposite); \
            f[number] = from[ws_lbm_beyond(block, up, up_mirror, (int)x - cx, (int)y - cy)];      \
            f[number + 1] =                                                                       \
                from[ws_lbm_beyond(block, down, down_mirror, (int)x + cx, (int)y + cy)];          \
        } else {                                                                                  \
            f[number] = from[up * plane - cy * pitch - cx];                                       \
            f[number + 1] = from[down * plane + cy * pitch + cx];                                 \
        }                                                                                         \
    }
    constexpr int rest = ws_lbm_place(0);
    f[0] = from[rest * plane + (beyond ? site : 0)];
    WS_LBM_PAIRS(WS_LBM_PULL)
#undef WS_LBM_PULL
    ws_lbm_collide(f, fluid);
    ws_lbm_store(f, to, (u64)plane);
}

/// Rows 0 to 2 below and above and some columns left and right, where the halo lies beyond, are the
/// edges; region 4 is what needs no halo. Columns are as many as fill a line of memory, where the
/// block is wide enough.
WS_INLINE WsLbmTile ws_lbm_region(const WsLbmBlock& block, int region) {
    const u32 nx = (u32)block.nx, ny = (u32)block.ny;
    const u32 below = !(block.sides & WS_LBM_ROWS_BELOW) ? 0 : ny < 3 ? ny : 3;
    const u32 above = !(block.sides & WS_LBM_ROWS_ABOVE) ? 0 : ny - below < 3 ? ny - below : 3;
    const u32 wide = nx < 48 ? 3 : 16;
    const u32 left = !(block.sides & WS_LBM_COLUMNS) ? 0 : nx < wide ? nx : wide;
    const u32 right = !(block.sides & WS_LBM_COLUMNS) ? 0 : nx - left < wide ? nx - left : wide;
    const u32 between = ny - below - above;
    if (region == 0) return {0, 0, nx, below};
    if (region == 1) return {0, ny - above, nx, above};
    if (region == 2) return {0, below, left, between};
    if (region == 3) return {nx - right, below, right, between};
    return {left, below, nx - left - right, between};
}

/// A region is cut in tiles of WS_LBM_TILE sites or less: pieces of rows, or of columns.
struct WsLbmCut {
    u32 width, height, across, tiles;
};

WS_INLINE WsLbmCut ws_lbm_cut(const WsLbmTile& region, int number) {
    const bool columns = number == 2 || number == 3;
    const u32 width = columns ? 16 : WS_LBM_TILE, height = columns ? WS_LBM_TILE / 16 : 1;
    const u32 across = (region.width + width - 1) / width;
    return {width, height, across, across * ((region.height + height - 1) / height)};
}

WS_INLINE WsLbmTile ws_lbm_tile(const WsLbmBlock& block, u32 tile) {
    for (int number = 0; number < 5; ++number) {
        const WsLbmTile region = ws_lbm_region(block, number);
        const WsLbmCut cut = ws_lbm_cut(region, number);
        if (tile >= cut.tiles) {
            tile -= cut.tiles;
            continue;
        }
        const u32 down = tile / cut.across;
        const u32 x = (tile - down * cut.across) * cut.width, y = down * cut.height;
        const u32 width = region.width - x, height = region.height - y;
        return {region.x + x, region.y + y, width < cut.width ? width : cut.width,
                height < cut.height ? height : cut.height};
    }
    return {0, 0, 0, 0};
}

/// Whether a part of the block needs what lies beyond it otherwise than in a halo.
WS_INLINE bool ws_lbm_beyond_needed(const WsLbmBlock& block, const WsLbmTile& part) {
    const u32 halo = WS_LBM_HALO;
    const bool wraps = !(block.sides & WS_LBM_COLUMNS);
    return (wraps && (part.x < halo || part.x + part.width + halo > block.nx)) ||
           (!(block.sides & WS_LBM_ROWS_BELOW) && part.y < halo) ||
           (!(block.sides & WS_LBM_ROWS_ABOVE) && part.y + part.height + halo > block.ny);
}

/// Few sites of a tile lie near a side, and only those take the longer way.
WS_INLINE void ws_lbm_sites(const WsLbmBlock& block, const WsLbmFluid& fluid, const double* from,
                            double* to, const WsLbmTile& tile) {
    const bool near = ws_lbm_beyond_needed(block, tile);
    ws_for_each_lane(tile.width * tile.height, [&](u32 i) {
        const u32 row = tile.height == 1 ? 0 : i / tile.width;
        const u32 x = tile.x + i - row * tile.width, y = tile.y + row;
        if (near && ws_lbm_beyond_needed(block, {x, y, 1, 1}))
            ws_lbm_site<true>(block, fluid, from, to, x, y);
        else
            ws_lbm_site<false>(block, fluid, from, to, x, y);
    });
}

/// One step of a block. part: 0 all of it, 1 what needs no halo, 2 the rest, the edges, 3 all of
/// it, and all of it waits for the halo. With a gate (null: none) the edges come first, each when
/// the halo is there.
WS_BOUNDED_KERNEL(WS_LBM_THREADS, WS_LBM_BLOCKS)
ws_lbm_step(WsGate* gate, u64 part, const double* from, double* to, u64 nx, u64 ny, u64 pitch,
            u64 plane, u64 first, u64 sides, double omega, double kick_x, double kick_y,
            double warmth) {
    const WsLbmBlock block = {nx, ny, pitch, plane, first, sides};
    const WsLbmFluid fluid = {omega, kick_x, kick_y, warmth};
    u32 edges = 0;
    for (int number = 0; number < 4; ++number)
        edges += ws_lbm_cut(ws_lbm_region(block, number), number).tiles;
    const u32 all = edges + ws_lbm_cut(ws_lbm_region(block, 4), 4).tiles;
    const u32 start = part == 1 ? edges : 0, end = part == 2 ? edges : all;
    for (u64 number = start + ws_block(); number < end; number += ws_blocks()) {
        const bool down = (sides & WS_LBM_DOWN) && number >= edges;
        const WsLbmTile tile = ws_lbm_tile(block, (u32)(down ? edges + all - 1 - number : number));
        if (number < edges)
            ws_gate_wait(gate);
        else if (part == 3)
            ws_gate_wait_whole(gate);
        ws_lbm_sites(block, fluid, from, to, tile);
        if (number < edges) ws_gate_edge_done(gate, edges);
    }
    if (part == 3) ws_gate_end(gate);
}
WS_REGISTER(ws_lbm_step)
