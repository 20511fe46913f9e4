// How a message is cut into chunks, and how much pinned memory the rings may take.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed::pipelined {

constexpr std::size_t page = 4096;
constexpr std::size_t least_chunk = std::size_t{256} << 10;
constexpr std::size_t most_chunk = std::size_t{8} << 20;
constexpr std::size_t least_slot = std::size_t{64} << 10;
constexpr std::size_t chunk_limit = std::size_t{64} << 20;
/// Of all rings that one rank pins, together.
constexpr std::size_t most_pinned = std::size_t{256} << 20;

/// Who hands chunks from copy to copy.
enum class By {
    streams,  ///< the device alone: its streams wait for words in memory and write them
    host      ///< the CPU does both
};

constexpr const char* word_for(By by) { return by == By::streams ? "streams" : "host"; }

/// What tests and sweeps may fix; 0 and `automatic` leave the choice to the rules.
struct Options {
    explicit Options(const Context& context);
    std::size_t chunk = 0;
    unsigned slots = 4;
    /// Of each side of a ring. Copies of several streams get into each other's way more than they
    /// hide of each other's ends.
    unsigned streams = 1;
    bool automatic = true;
    By by = By::host;
    /// False: through MPI even where the ranks share memory.
    bool shared = true;
};

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// The chunk of a message that may take `slot` bytes a chunk. Each chunk costs a hand-over, in
/// which a copy engine could have moved some 160 KiB (2.9 us between two copies at 55 GB/s,
/// measured on H200s), and the second copies run one chunk behind the first: n chunks take the time
/// of message + message / n + n * handover bytes, and n is best where the last two are equal.
inline std::size_t chunk_for(std::size_t message, std::size_t slot) {
    constexpr double handover = 160 << 10;
    constexpr std::size_t grain = std::size_t{64} << 10;
    const auto best = static_cast<std::size_t>(std::sqrt(static_cast<double>(message) * handover));
    return std::min(std::clamp((best + grain - 1) / grain * grain, least_chunk, most_chunk), slot);
}

/// The bytes of each chunk. Small chunks at the ends would not help: both copies run at the same
/// rate, so that the second stays behind by the largest chunk that there was.
inline std::vector<std::size_t> cut(std::size_t message, std::size_t chunk) {
    std::vector<std::size_t> all;
    do {
        all.push_back(std::min(chunk, message));
        message -= all.back();
    } while (message > 0);
    return all;
}

}  // namespace wirespeed::pipelined
