// Pieces of a pool of memory that go to places in another pool, as blocks of a list do.
#pragma once

#include "kernels/copy.h"

/// A stretch of a pool, all in bytes: its place, where its content begins (in another pool, when it
/// is copied), and its length.
struct WsPiece {
    u64 at, content, bytes;
};

/// Pieces for a kernel that finds them in memory.
struct WsPieceList {
    u64 pieces, count, team;  ///< as ws_copy_pieces takes them
};

/// By a whole grid; `team` threads share a piece, and a warp of them loads all of 4 KiB at once.
WS_INLINE void ws_copy_pieces(u64 to, u64 from, const WsPiece* pieces, u64 count, u64 team) {
    const u64 threads = team < ws_lanes() ? team : ws_lanes(), teams = ws_lanes() / threads;
    const u64 mine = ws_lane() / threads, lane = ws_lane() % threads;
    if (mine >= teams) return;
    for (u64 number = ws_block() * teams + mine; number < count; number += ws_blocks() * teams) {
        const WsPiece piece = pieces[number];
        ws_copy(to + piece.at, from + piece.content, piece.bytes, lane, threads);
    }
}

WS_BOUNDED_KERNEL(1024, 1)
ws_pieces_copy(u64 to, u64 from, const WsPiece* pieces, u64 count, u64 team) {
    ws_copy_pieces(to, from, pieces, count, team);
}

WS_BOUNDED_KERNEL(1024, 1)
ws_pieces_copy_and_signal(u64 to, u64 from, const WsPiece* pieces, u64 count, u64 team, u64 word,
                          u64 number, u64 counter) {
    ws_copy_pieces(to, from, pieces, count, team);
    ws_signal_copied(word, number, counter);
}
