// Several time steps of Jacobi's iteration in one pass over memory, with halos as many rows deep.
//
// A warp goes up a strip of columns and keeps three rows of each of the k steps in registers: when
// row y of the present field arrives, row y - 1 of the first step can be computed, y - 2 of the
// second, and so on; row y - k of the last one is stored. Strips and chunks of rows overlap by what
// their neighbours' points need, which is computed twice.
#pragma once

#include "kernels/fields.h"
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
#include <vector>
#endif

/// More bits of `cut`: values beyond the sides of the plane stay; and rows beyond the block are
/// those at its other end.
#define WS_JACOBI_FIXED 32u
#define WS_JACOBI_WRAPS 64u
/// Columns by which a strip overlaps each of its neighbours: k at least, and whole vectors.
#define WS_JACOBI_OVERLAP 4
/// Lanes of a strip.
#define WS_JACOBI_LANES 32
/// Rows of a chunk: so many that all warps of 4096 x 4096 numbers of 4 bytes run at once on the 132
/// multiprocessors of an H200.
WS_INLINE constexpr i32 ws_jacobi_chunk_rows(u32 steps) { return steps > 2 ? 70 : 56; }

template <class T> struct WsJacobiDeep {
    const T* from;
    T* to;
    i32 nx, ny;
    u32 pitch, cut;
    /// What stays beyond the sides of the plane, a number a row, from row 1 - k on.
    const T *west, *east;
    T source;
};

/// Where a row of the field lies, for rows that lie beyond the block, too.
template <class T> WS_INLINE i32 ws_jacobi_row(const WsJacobiDeep<T>& b, i32 row) {
    if (b.cut & WS_JACOBI_WRAPS) return row < 0 ? row + b.ny : row < b.ny ? row : row - b.ny;
    if (row < -1 && !(b.cut & WS_JACOBI_SOUTH)) return -1;
    if (row > b.ny && !(b.cut & WS_JACOBI_NORTH)) return b.ny;
    return row;
}

/// Does a row stay as it is?
template <class T> WS_INLINE bool ws_jacobi_stays(const WsJacobiDeep<T>& b, i32 row) {
    return (row < 0 && !(b.cut & WS_JACOBI_SOUTH)) || (row >= b.ny && !(b.cut & WS_JACOBI_NORTH));
}

/// `rows` rows of a strip from row y on, by a warp. Adds the squared changes of its own points in
/// each of the K steps to `sums`.
template <class T, u32 K, bool norm>
WS_INLINE void ws_jacobi_march(const WsJacobiDeep<T>& b, u32 strip, i32 y, i32 rows, double* sums) {
    constexpr u32 V = 16 / sizeof(T), edge = WS_JACOBI_OVERLAP / V;
    /// Rows that a lane has in flight.
    constexpr i32 A = 4;
    using Vector = WsVector<T, V>;
    const u32 lane = ws_lane() % WS_JACOBI_LANES;
    const i32 width = WS_JACOBI_LANES * V - 2 * WS_JACOBI_OVERLAP;
    const i32 x = (i32)strip * width + (i32)(lane * V) - WS_JACOBI_OVERLAP;
    const bool own = lane >= edge && lane < WS_JACOBI_LANES - edge && x < b.nx;
    const bool fixed = b.cut & WS_JACOBI_FIXED;
    const bool beyond = fixed && (x < 0 || x >= b.nx);
    const i32 around = (x % b.nx + b.nx) % b.nx;
    const T* const side = x < 0 ? b.west : b.east;
    const i32 last = y + rows + (i32)K;
    const auto load = [&](i32 row) {
        const i32 place = ws_jacobi_row(b, row);
        if (!beyond) return *(const Vector*)(b.from + (i64)place * b.pitch + around);
        // Rows at the very end of what is loaded need no sides.
        const i32 low = 1 - (i32)K, high = b.ny + (i32)K - 2;
        const T value = side[(place < low ? low : place > high ? high : place) - low];
        Vector all;
        WS_UNROLL
        for (u32 i = 0; i < V; ++i) all.at[i] = value;
        return all;
    };
    Vector south[K] = {}, center[K] = {}, ahead[A] = {};
    i32 next = y - (i32)K;
    WS_UNROLL
    for (i32 r = 0; r < A; ++r)
        if (next + r < last) ahead[r] = load(next + r);
    while (next < last) {
        T squares[K] = {};
        WS_UNROLL
        for (i32 r = 0; r < A; ++r) {
            if (next >= last) break;
            Vector north = ahead[r];
            if (next + A < last) ahead[r] = load(next + A);
            WS_UNROLL
            for (u32 k = 0; k < K; ++k) {
                const i32 row = next - 1 - (i32)k;
                const Vector old = center[k];
                const T before = ws_from_lane(old.at[V - 1], WS_JACOBI_LANES - 1);
                const T behind = ws_from_lane(old.at[0], 1);
                const bool stays = fixed && (beyond || ws_jacobi_stays(b, row));
                const bool counts = norm && row >= y && row < y + rows;
                Vector out;
                WS_UNROLL
                for (u32 i = 0; i < V; ++i) {
                    const T left = i ? old.at[i ? i - 1 : 0] : before;
                    const T right = i + 1 < V ? old.at[i + 1 < V ? i + 1 : 0] : behind;
                    const T point =
                        ws_jacobi_point(left, right, south[k].at[i], north.at[i], b.source);
                    out.at[i] = stays ? old.at[i] : point;
                    const T change = out.at[i] - old.at[i];
                    if (counts) squares[k] += change * change;
                }
                south[k] = old;
                center[k] = north;
                north = out;
            }
            const i32 done = next - (i32)K;
            if (own && done >= y && done < y + rows)
                *(Vector*)(b.to + (i64)done * b.pitch + x) = north;
            ++next;
        }
        WS_UNROLL
        for (u32 k = 0; norm && k < K; ++k)
            if (own) sums[k] += (double)squares[k];
    }
}

#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
/// The same for all columns where one thread does a chunk: step after step, so that the compiler
/// vectorises.
template <class T, u32 K, bool norm>
WS_INLINE void ws_jacobi_sweeps(const WsJacobiDeep<T>& b, i32 y, i32 rows, double* sums) {
    static thread_local std::vector<T> room[2];
    const std::size_t pitch = (std::size_t)b.nx + 2,
                      size = (std::size_t)(rows + 2 * (i32)K) * pitch;
    for (std::vector<T>& each : room)
        if (each.size() < size) each.resize(size);
    const i32 first = y - (i32)K, last = y + rows + (i32)K;
    const auto line = [&](u32 k, i32 row) {
        return room[k % 2].data() + (std::size_t)(row - first) * pitch;
    };
    for (u32 k = 0; k <= K; ++k)
        for (i32 row = first + (i32)k; row < last - (i32)k; ++row) {
            T* const __restrict to = line(k, row);
            const T* const old = line(k + 1, row);  // of the step before
            if (k == 0)
                std::memcpy(to + 1, b.from + (i64)ws_jacobi_row(b, row) * b.pitch,
                            (std::size_t)b.nx * sizeof(T));
            else if (b.cut & WS_JACOBI_FIXED && ws_jacobi_stays(b, row))
                std::memcpy(to, old, pitch * sizeof(T));
            else
                for (i32 i = 1; i <= b.nx; ++i)
                    to[i] = ws_jacobi_point(old[i - 1], old[i + 1], old[i - (i64)pitch],
                                            old[i + (i64)pitch], b.source);
            const i32 low = 1 - (i32)K, high = b.ny + (i32)K - 2;
            const i32 place = ws_jacobi_row(b, row);
            const i32 at = (place < low ? low : place > high ? high : place) - low;
            to[0] = b.cut & WS_JACOBI_FIXED ? b.west[at] : to[b.nx];
            to[b.nx + 1] = b.cut & WS_JACOBI_FIXED ? b.east[at] : to[1];
            if (row < y || row >= y + rows) continue;
            double parts[WS_JACOBI_SUMS] = {};
            if (norm && k) ws_jacobi_changes(old + 1, to + 1, (u64)b.nx, parts);
            for (const double part : parts)
                if (norm && k) sums[k - 1] += part;
            if (k == K)
                std::memcpy(b.to + (i64)row * b.pitch, to + 1, (std::size_t)b.nx * sizeof(T));
        }
}
#endif

/// How a launch divides a block: a tile is a strip of a chunk for each of a block's warps. Chunks
/// at cut sides, which need a halo and are sent, come first.
struct WsJacobiTiles {
    u32 warps, strips;
    i32 low, high;        ///< rows between the chunks at cut sides
    u32 chunks;           ///< between them
    u32 at_edges, edges;  ///< strips at cut sides, and tiles of them
    u32 tiles;            ///< of all
};
template <class T, u32 K> WS_INLINE WsJacobiTiles ws_jacobi_tiles_of(const WsJacobiDeep<T>& b) {
    const bool south = b.cut & WS_JACOBI_SOUTH, north = b.cut & WS_JACOBI_NORTH;
    const u32 width = WS_JACOBI_LANES * 16 / sizeof(T) - 2 * WS_JACOBI_OVERLAP;
    // Where threads are no warps, one does whole chunks.
    const bool whole = ws_lanes() % WS_JACOBI_LANES != 0;
    WsJacobiTiles t;
    t.warps = whole ? 1 : ws_lanes() / WS_JACOBI_LANES;
    t.strips = whole ? 1 : ((u32)b.nx + width - 1) / width;
    t.low = south ? (i32)K : 0;
    t.high = b.ny - (north ? (i32)K : 0);
    t.chunks = (u32)(t.high - t.low + ws_jacobi_chunk_rows(K) - 1) / ws_jacobi_chunk_rows(K);
    t.at_edges = t.strips * ((u32)south + (u32)north);
    t.edges = (t.at_edges + t.warps - 1) / t.warps;
    t.tiles = t.edges + (t.strips * t.chunks + t.warps - 1) / t.warps;
    return t;
}

template <class T, u32 K, bool norm>
WS_INLINE void ws_jacobi_chunk(const WsJacobiDeep<T>& b, u32 strip, i32 y, i32 rows, double* sums) {
#if !defined(__CUDACC_RTC__) && !defined(__HIPCC_RTC__)
    if (ws_lanes() % WS_JACOBI_LANES != 0) {
        if (ws_lane() == 0) ws_jacobi_sweeps<T, K, norm>(b, y, rows, sums);
        return;
    }
#endif
    ws_jacobi_march<T, K, norm>(b, strip, y, rows, sums);
}

/// Its tiles of one pass. part: as in ws_jacobi_tiles().
template <class T, u32 K, bool norm>
WS_INLINE void ws_jacobi_pass(WsGate* gate, u64 part, const WsJacobiDeep<T>& b,
                              const WsJacobiTiles& t, double* sums) {
    const u32 blocks = ws_norm_blocks(), warp = ws_lane() / WS_JACOBI_LANES % t.warps;
    const u32 end = ws_block() >= blocks ? 0 : part == 2 ? t.edges : t.tiles;
    for (u32 tile = (part == 1 ? t.edges : 0) + (u32)ws_block(); tile < end; tile += blocks) {
        const bool edge = tile < t.edges;
        if (edge)
            ws_gate_wait(gate);
        else if (part == 3)
            ws_gate_wait_whole(gate);
        const u32 number = (edge ? tile : tile - t.edges) * t.warps + warp;
        const u32 chunk = number / t.strips, strip = number - chunk * t.strips;
        if (edge && number < t.at_edges) {
            const bool low = chunk == 0 && t.low;
            ws_jacobi_chunk<T, K, norm>(b, strip, low ? 0 : t.high, (i32)K, sums);
        } else if (!edge && chunk < t.chunks) {
            const u32 up = b.cut & WS_JACOBI_DOWN ? t.chunks - 1 - chunk : chunk;
            const i32 y = t.low + (i32)(up * ws_jacobi_chunk_rows(K));
            const i32 rows =
                t.high - y < ws_jacobi_chunk_rows(K) ? t.high - y : ws_jacobi_chunk_rows(K);
            ws_jacobi_chunk<T, K, norm>(b, strip, y, rows, sums);
        }
        if (edge) ws_gate_edge_done(gate, t.edges);
    }
}

template <class T, u32 K>
WS_INLINE void ws_jacobi_deep(WsGate* gate, u64 part, const WsJacobiDeep<T>& b, WsNormParts* leave,
                              const WsNormParts* gather, double* mine, const double* of_ranks,
                              u64 ranks, double* norm, u64 parts) {
    const WsJacobiTiles t = ws_jacobi_tiles_of<T, K>(b);
    const u32 early = part == 1 ? 0 : t.edges, blocks = (u32)ws_blocks();
    if (part != 2 && ws_block() == (early < blocks ? early : blocks - 1))
        for (u32 k = 0; k < K; ++k) {
            if (gather) ws_norm_gather(ws_norm_parts(gather, k * parts), mine + k);
            if (of_ranks) ws_norm_combine(of_ranks + k, ranks, K, norm + k);
        }
    if (leave) {
        double sums[K] = {};
        ws_jacobi_pass<T, K, true>(gate, part, b, t, sums);
        WS_UNROLL
        for (u32 k = 0; k < K; ++k)
            ws_norm_leave(sums[k], ws_norm_parts(leave, k * parts), part == 2);
    } else
        ws_jacobi_pass<T, K, false>(gate, part, b, t, nullptr);
    if (part == 3) ws_gate_end(gate);
}

/// parts: bytes from what one step leaves of its norm to what the next one does.
#define WS_JACOBI_DEEP(T, K, name)                                                                 \
    WS_BOUNDED_KERNEL(128, (K > 2 ? 4 : 5))                                                        \
    name(WsGate* gate, u64 part, const T* from, T* to, u64 nx, u64 ny, u64 pitch, u64 cut,         \
         const T* west, const T* east, double source, WsNormParts* leave,                          \
         const WsNormParts* gather, double* mine, const double* of_ranks, u64 ranks, double* norm, \
         u64 parts) {                                                                              \
        const WsJacobiDeep<T> block = {from,     to,   (i32)nx, (i32)ny,  (u32)pitch,              \
                                       (u32)cut, west, east,    (T)source};                        \
        ws_jacobi_deep<T, K>(gate, part, block, leave, gather, mine, of_ranks, ranks, norm,        \
                             parts);                                                               \
    }                                                                                              \
    WS_REGISTER(name)
WS_JACOBI_DEEP(float, 2, ws_jacobi_deep2_f32)
WS_JACOBI_DEEP(float, 4, ws_jacobi_deep4_f32)
WS_JACOBI_DEEP(double, 2, ws_jacobi_deep2_f64)
WS_JACOBI_DEEP(double, 4, ws_jacobi_deep4_f64)
