// The grid of a kernel that copies: enough threads to keep the wire busy, few enough to start and
// to end quickly.
#pragma once

#include <algorithm>
#include <cstddef>

namespace wirespeed {

struct CopyGrid {
    unsigned blocks, threads;
};

inline CopyGrid copy_grid(std::size_t bytes, unsigned most_blocks) {
    constexpr std::size_t most_threads = 512, each = 64;
    const std::size_t threads = std::clamp<std::size_t>(bytes / 16 / 32 * 32, 32, most_threads);
    const std::size_t blocks = std::clamp<std::size_t>(bytes / (threads * each), 1, most_blocks);
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(threads)};
}

}  // namespace wirespeed
