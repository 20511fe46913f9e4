// Jacobi's iteration for Poisson's equation in a plane, 5 points.
//
// A rank's block is u[row][x], `pitch` numbers a row, with one halo row below and one above. What
// lies left and right of it are arrays of their own, a number a row, so that every message is
// contiguous: a kernel that computes a column which a neighbour needs packs it at once.
//
// Every point goes through ws_jacobi_point, so that no bit depends on how the plane is divided.
#pragma once

#include "kernels/fields.h"

/// Bits of `cut`: beyond this side lies another rank's block.
#define WS_JACOBI_WEST 1u
#define WS_JACOBI_EAST 2u
#define WS_JACOBI_SOUTH 4u
#define WS_JACOBI_NORTH 8u
/// And: what needs no halo is done from the top down. Steps take turns in that, so that a step
/// begins with what the last-level cache still has of the one before.
#define WS_JACOBI_DOWN 16u
/// Sites of a tile in x and y, and of the strip at a cut side, which is a line of memory: powers of
/// two, so that no thread divides.
#define WS_JACOBI_TILE 1024
#define WS_JACOBI_ROWS 4
#define WS_JACOBI_STRIP 32

template <class T> struct WsJacobi {
    const T* from;
    T* to;
    u32 nx, ny, pitch, cut;
    /// What lies beyond the sides: numbers west_step (east_step) apart, and rows.
    const T *west, *east, *south, *north;
    u32 west_step, east_step;
    T *west_out, *east_out;  ///< null where nobody needs the column
    T source;                ///< h^2 f
};

template <class T> WS_INLINE T ws_jacobi_point(T west, T east, T south, T north, T source) {
    return (T)0.25 * (((west + east) + (south + north)) + source);
}

template <class T, u32 V> struct alignas(V * sizeof(T)) WsVector {
    T at[V];
};

/// V columns of R rows: all that they need is in flight before anything is computed. inner: none is
/// the block's first or last column, which saves registers. Returns the sum of the squared changes.
template <class T, u32 V, u32 R, bool norm, bool inner>
WS_INLINE double ws_jacobi_piece(const WsJacobi<T>& b, u32 x, u32 y) {
    using Vector = WsVector<T, V>;
    const bool first = !inner && x == 0, last = !inner && x + V == b.nx;
    const u32 pitch = b.pitch;
    const u64 at = (u64)y * pitch + x;
    const T* const from = b.from + at;
    const T* const west = first ? b.west + (u64)y * b.west_step : from - 1;
    const T* const east = last ? b.east + (u64)y * b.east_step : from + V;
    const u32 west_step = first ? b.west_step : pitch, east_step = last ? b.east_step : pitch;
    Vector row[R + 2];
    T before[R], behind[R];
    row[0] = *(const Vector*)(y ? from - pitch : b.south + x);
    WS_UNROLL
    for (u32 r = 0; r < R; ++r) {
        row[r + 1] = *(const Vector*)(from + r * pitch);
        before[r] = west[r * west_step];
        behind[r] = east[r * east_step];
    }
    row[R + 1] = *(const Vector*)(y + R < b.ny ? from + R * pitch : b.north + x);
    // So few rows are summed as they are; conversions are slow.
    T squares = 0;
    T* to = b.to + at;
    WS_UNROLL
    for (u32 r = 0; r < R; ++r) {
        const Vector &south = row[r], &center = row[r + 1], &north = row[r + 2];
        Vector out;
        WS_UNROLL
        for (u32 i = 0; i < V; ++i) {
            const T left = i ? center.at[i ? i - 1 : 0] : before[r];
            const T right = i + 1 < V ? center.at[i + 1 < V ? i + 1 : 0] : behind[r];
            out.at[i] = ws_jacobi_point(left, right, south.at[i], north.at[i], b.source);
            const T change = out.at[i] - center.at[i];
            if (norm) squares += change * change;
        }
        *(Vector*)to = out;
        if (first && b.west_out) b.west_out[y + r] = out.at[0];
        if (last && b.east_out) b.east_out[y + r] = out.at[V - 1];
        to += pitch;
    }
    return (double)squares;
}

/// V columns of so many rows.
template <class T, u32 V, bool norm>
WS_INLINE double ws_jacobi_column(const WsJacobi<T>& b, u32 x, u32 y, u32 rows) {
    // The same for a whole warp.
    constexpr u32 warp = 32 * V;
    const bool inner = V > 1 && x >= warp && x / warp * warp + warp < b.nx;
    const u32 end = y + rows;
    double sum = 0;
    if (V > 1)
        for (; y + WS_JACOBI_ROWS <= end; y += WS_JACOBI_ROWS)
            sum += inner ? ws_jacobi_piece<T, V, WS_JACOBI_ROWS, norm, true>(b, x, y)
                         : ws_jacobi_piece<T, V, WS_JACOBI_ROWS, norm, false>(b, x, y);
    for (; y < end; ++y) sum += ws_jacobi_piece<T, V, 1, norm, false>(b, x, y);
    return sum;
}

#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
/// Adds the squared changes of a row to `sums`, whose lanes a compiler can vectorise.
#define WS_JACOBI_SUMS 8
template <class T>
WS_INLINE void ws_jacobi_changes(const T* before, const T* after, u64 count, double* sums) {
    const auto square = [&](u64 i) {
        const T change = after[i] - before[i];
        return (double)(change * change);
    };
    u64 i = 0;
    for (; i + WS_JACOBI_SUMS <= count; i += WS_JACOBI_SUMS)
        for (u32 lane = 0; lane < WS_JACOBI_SUMS; ++lane) sums[lane] += square(i + lane);
    for (; i < count; ++i) sums[0] += square(i);
}

/// The same where one thread does the whole tile: row after row, so that the compiler vectorises.
template <class T, bool norm>
WS_INLINE double ws_jacobi_rows(const WsJacobi<T>& b, u64 x, u64 y, u64 width, u64 rows) {
    double sums[WS_JACOBI_SUMS] = {};
    for (u64 row = y; row < y + rows; ++row) {
        const T* const at = b.from + row * b.pitch;
        const T* const south = row ? at - b.pitch : b.south;
        const T* const north = row + 1 < b.ny ? at + b.pitch : b.north;
        T* const __restrict to = b.to + row * b.pitch;
        const auto point = [&](u64 i) {
            const T west = i ? at[i - 1] : b.west[row * b.west_step];
            const T east = i + 1 < b.nx ? at[i + 1] : b.east[row * b.east_step];
            to[i] = ws_jacobi_point(west, east, south[i], north[i], b.source);
        };
        const u64 end = x + width;
        const bool first = x == 0, last = end == b.nx;
        if (first) point(0);
        for (u64 i = x + first; i < end - last; ++i)
            to[i] = ws_jacobi_point(at[i - 1], at[i + 1], south[i], north[i], b.source);
        if (last) point(end - 1);
        if (first && b.west_out) b.west_out[row] = to[0];
        if (last && b.east_out) b.east_out[row] = to[end - 1];
        if (!norm) continue;
        ws_jacobi_changes(at + x, to + x, width, sums);
    }
    double sum = 0;
    for (const double each : sums) sum += each;
    return sum;
}
#endif

struct WsJacobiTile {
    u32 x, y, width, rows;
};

/// A tile: neighbouring lanes on neighbouring columns of 16 bytes; lanes that a narrow tile leaves
/// share its rows.
template <class T, bool norm>
WS_INLINE double ws_jacobi_tile(const WsJacobi<T>& b, const WsJacobiTile& tile) {
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
    if (ws_lanes() == 1) return ws_jacobi_rows<T, norm>(b, tile.x, tile.y, tile.width, tile.rows);
#endif
    constexpr u32 V = 16 / sizeof(T);
    const u32 lanes = ws_lanes(), vectors = tile.width / V, columns = vectors + tile.width % V;
    const u32 groups = lanes > columns ? lanes / columns : 1;
    const u32 each = groups == 1 ? tile.rows : (tile.rows + groups - 1) / groups;
    double sum = 0;
    for (u32 i = ws_lane(); i < columns * groups; i += lanes) {
        const u32 group = groups == 1 ? 0 : i / columns, column = i - group * columns;
        const u32 down = group * each;
        if (down >= tile.rows) continue;
        const u32 some = each < tile.rows - down ? each : tile.rows - down, y = tile.y + down;
        if (column < vectors)
            sum += ws_jacobi_column<T, V, norm>(b, tile.x + column * V, y, some);
        else
            sum +=
                ws_jacobi_column<T, 1, norm>(b, tile.x + vectors * V + column - vectors, y, some);
    }
    return sum;
}

/// What needs a halo comes first: the row at each cut side, then strips of columns. Region 4 is all
/// else.
template <class T> WS_INLINE WsJacobiTile ws_jacobi_region(const WsJacobi<T>& b, u32 number) {
    const u32 south = b.cut & WS_JACOBI_SOUTH ? 1 : 0;
    const u32 north = b.cut & WS_JACOBI_NORTH && b.ny > south ? 1 : 0;
    const u32 west = !(b.cut & WS_JACOBI_WEST) ? 0
                     : b.nx < WS_JACOBI_STRIP  ? b.nx
                                               : WS_JACOBI_STRIP;
    // The strip in the east starts where a line of memory does.
    const u32 rest = b.nx - west, lines = (b.nx - 1) / WS_JACOBI_STRIP * WS_JACOBI_STRIP;
    const u32 east = !(b.cut & WS_JACOBI_EAST) ? 0 : lines < west ? rest : b.nx - lines;
    const u32 between = b.ny - south - north;
    if (number == 0) return {0, 0, b.nx, south};
    if (number == 1) return {0, b.ny - north, b.nx, north};
    if (number == 2) return {0, south, west, between};
    if (number == 3) return {b.nx - east, south, east, between};
    return {west, south, b.nx - west - east, between};
}

struct WsJacobiCut {
    u32 rows, across, tiles;
};
WS_INLINE WsJacobiCut ws_jacobi_cut(const WsJacobiTile& region, u32 number) {
    const bool strip = number == 2 || number == 3;
    const u32 rows = strip ? WS_JACOBI_STRIP : WS_JACOBI_ROWS;
    const u32 across = (region.width + WS_JACOBI_TILE - 1) / WS_JACOBI_TILE;
    return {rows, across, across * ((region.rows + rows - 1) / rows)};
}

/// Tile number `tile` of a region.
WS_INLINE WsJacobiTile ws_jacobi_tile_within(const WsJacobiTile& region, const WsJacobiCut& cut,
                                             u32 tile) {
    const u32 down = tile / cut.across;
    const u32 x = (tile - down * cut.across) * WS_JACOBI_TILE, y = down * cut.rows;
    const u32 width = region.width - x, rows = region.rows - y;
    return {region.x + x, region.y + y, width < WS_JACOBI_TILE ? width : WS_JACOBI_TILE,
            rows < cut.rows ? rows : cut.rows};
}

template <class T> WS_INLINE WsJacobiTile ws_jacobi_edge_tile(const WsJacobi<T>& b, u32 tile) {
    for (u32 number = 0; number < 4; ++number) {
        const WsJacobiTile region = ws_jacobi_region(b, number);
        const WsJacobiCut cut = ws_jacobi_cut(region, number);
        if (tile < cut.tiles) return ws_jacobi_tile_within(region, cut, tile);
        tile -= cut.tiles;
    }
    return {0, 0, 0, 0};
}

/// Its tiles of one step. part: 0 all of it, 1 what needs no halo, 2 the rest, 3 all of it, and all
/// of it waits for the halo.
template <class T, bool norm>
WS_INLINE double ws_jacobi_tiles(WsGate* gate, u64 part, const WsJacobi<T>& b, u32 edges) {
    const WsJacobiTile inner = ws_jacobi_region(b, 4);
    const WsJacobiCut cut = ws_jacobi_cut(inner, 4);
    const u32 blocks = ws_norm_blocks();
    const u32 end = ws_block() >= blocks ? 0 : part == 2 ? edges : edges + cut.tiles;
    double sum = 0;
    for (u32 number = (part == 1 ? edges : 0) + (u32)ws_block(); number < end; number += blocks) {
        const bool edge = number < edges;
        if (edge)
            ws_gate_wait(gate);
        else if (part == 3)
            ws_gate_wait_whole(gate);
        const u32 up = number - edges, place = b.cut & WS_JACOBI_DOWN ? cut.tiles - 1 - up : up;
        const WsJacobiTile tile =
            edge ? ws_jacobi_edge_tile(b, number) : ws_jacobi_tile_within(inner, cut, place);
        sum += ws_jacobi_tile<T, norm>(b, tile);
        if (edge) ws_gate_edge_done(gate, edges);
    }
    return sum;
}

/// One step of a block, with what a norm needs (kernels/fields.h): `leave` takes this step's parts,
/// `gather` has those of the step before, whose sum goes to `mine`; `of_ranks` has the sums of all
/// ranks of an earlier step, whose sum goes to `norm`. Each is null where there is nothing to do.
template <class T>
WS_INLINE void ws_jacobi_step(WsGate* gate, u64 part, const WsJacobi<T>& b, WsNormParts* leave,
                              const WsNormParts* gather, double* mine, const double* of_ranks,
                              u64 ranks, double* norm) {
    u32 edges = 0;
    for (u32 number = 0; number < 4; ++number)
        edges += ws_jacobi_cut(ws_jacobi_region(b, number), number).tiles;
    // A block that runs early, and has no tile that others wait for.
    const u32 early = part == 1 ? 0 : edges, blocks = (u32)ws_blocks();
    if (part != 2 && ws_block() == (early < blocks ? early : blocks - 1)) {
        if (gather) ws_norm_gather(gather, mine);
        if (of_ranks) ws_norm_combine(of_ranks, ranks, norm);
    }
    if (leave)
        ws_norm_leave(ws_jacobi_tiles<T, true>(gate, part, b, edges), leave, part == 2);
    else
        ws_jacobi_tiles<T, false>(gate, part, b, edges);
    if (part == 3) ws_gate_end(gate);
}

#define WS_JACOBI_STEP(T, name)                                                                 \
    WS_BOUNDED_KERNEL(256, 4)                                                                   \
    name(WsGate* gate, u64 part, const T* from, T* to, u64 nx, u64 ny, u64 pitch, u64 cut,      \
         const T* west, u64 west_step, const T* east, u64 east_step, const T* south,            \
         const T* north, T* west_out, T* east_out, double source, WsNormParts* leave,           \
         const WsNormParts* gather, double* mine, const double* of_ranks, u64 ranks,            \
         double* norm) {                                                                        \
        const WsJacobi<T> block = {                                                             \
            from,  to,    (u32)nx,        (u32)ny,        (u32)pitch, (u32)cut, west,     east, \
            south, north, (u32)west_step, (u32)east_step, west_out,   east_out, (T)source};     \
        ws_jacobi_step(gate, part, block, leave, gather, mine, of_ranks, ranks, norm);          \
    }                                                                                           \
    WS_REGISTER(name)
WS_JACOBI_STEP(float, ws_jacobi_step_f32)
WS_JACOBI_STEP(double, ws_jacobi_step_f64)

/// The sum of the squared differences of two blocks: each block of threads leaves a part, one of
/// `room`; what has no block is zero.
template <class T>
WS_INLINE void ws_jacobi_change(const T* before, const T* after, u64 nx, u64 ny, u64 pitch,
                                double* to, u64 room) {
    const u64 block = ws_block(), blocks = ws_blocks() < room ? ws_blocks() : room;
    double sum = 0;
    for (u64 row = block; block < blocks && row < ny; row += blocks)
        for (u64 x = ws_lane(); x < nx; x += ws_lanes()) {
            const T change = after[row * pitch + x] - before[row * pitch + x];
            sum += (double)(change * change);
        }
    sum = ws_block_sum(sum);
    if (ws_lane() == 0 && block < blocks) to[block] = sum;
    if (ws_lane() == 0 && block == 0)
        for (u64 other = blocks; other < room; ++other) to[other] = 0;
}

/// A number in [1, 2) that depends on the place in the plane alone, exact in each precision.
WS_INLINE double ws_jacobi_noise(u64 place, u64 seed) {
    u64 word = (place + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd6e8feb86659fd93ull;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    return 1 + (double)((word ^ (word >> 31)) >> 41) / 8388608.0;
}

/// Fills a block whose point (0, 0) is (x0, y0) of a plane of width x height points, with its halo,
/// a row below and above. Beyond a side of the plane it goes on periodically, or lie the
/// values that stay (fixed). What comes from another rank (cut) is filled with what is no number.
/// coarse: 2 x 2 points are alike, so that the field has none of the wave that changes its sign
/// from point to point, which no step makes smaller.
template <class T>
WS_INLINE void ws_jacobi_fill(T* to, u64 nx, u64 ny, u64 pitch, u64 cut, T* west, T* east,
                              T* west_out, T* east_out, u64 x0, u64 y0, u64 width, u64 height,
                              u64 fixed, u64 coarse, u64 seed) {
    const T infinite = (T)1e38 * (T)1e38 * (T)1e308, nothing = infinite - infinite;
    ws_for_each((nx + 2) * (ny + 2), [=](u64 i) {
        const u64 row = i / (nx + 2), column = i - row * (nx + 2);
        // One more than the place in the plane, which may be -1.
        u64 x = x0 + column, y = y0 + row;
        if (!fixed) {
            x = (x + width - 1) % width + 1;
            y = (y + height - 1) % height + 1;
        }
        x = (x + coarse) >> coarse, y = (y + coarse) >> coarse;
        T value = (T)ws_jacobi_noise(y * (width + 2) + x, seed);
        const bool below = row == 0, above = row > ny;
        const bool within = column > 0 && column <= nx;
        if ((column == 0 && cut & WS_JACOBI_WEST) || (column > nx && cut & WS_JACOBI_EAST) ||
            (within && below && cut & WS_JACOBI_SOUTH) ||
            (within && above && cut & WS_JACOBI_NORTH))
            value = nothing;
        const bool beside = !below && !above;
        if (within) to[row * pitch + column - 1 - pitch] = value;
        if (beside && column == 0 && west) west[row - 1] = value;
        if (beside && column == nx + 1 && east) east[row - 1] = value;
        if (beside && column == 1 && west_out) west_out[row - 1] = value;
        if (beside && column == nx && east_out) east_out[row - 1] = value;
    });
}

#define WS_JACOBI_SET_UP(T, change, fill)                                                     \
    WS_KERNEL change(const T* before, const T* after, u64 nx, u64 ny, u64 pitch, double* to,  \
                     u64 room) {                                                              \
        ws_jacobi_change(before, after, nx, ny, pitch, to, room);                             \
    }                                                                                         \
    WS_REGISTER(change)                                                                       \
    WS_KERNEL fill(T* to, u64 nx, u64 ny, u64 pitch, u64 cut, T* west, T* east, T* west_out,  \
                   T* east_out, u64 x0, u64 y0, u64 width, u64 height, u64 fixed, u64 coarse, \
                   u64 seed) {                                                                \
        ws_jacobi_fill(to, nx, ny, pitch, cut, west, east, west_out, east_out, x0, y0, width, \
                       height, fixed, coarse, seed);                                          \
    }                                                                                         \
    WS_REGISTER(fill)
WS_JACOBI_SET_UP(float, ws_jacobi_change_f32, ws_jacobi_fill_f32)
WS_JACOBI_SET_UP(double, ws_jacobi_change_f64, ws_jacobi_fill_f64)
