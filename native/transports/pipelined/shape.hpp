// How a message is cut into chunks, and how much pinned memory the rings may take.
#pragma once

#include <algorithm>
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
    mixed,    ///< streams write the words, the CPU waits for them: no stream is ever blocked
    host      ///< the CPU does both
};

constexpr const char* word_for(By by) {
    return by == By::streams ? "streams" : by == By::mixed ? "streams and host" : "host";
}

/// What tests and sweeps may fix; 0 and `automatic` leave the choice to the rules.
struct Options {
    explicit Options(const Context& context);
    std::size_t chunk = 0;
    unsigned slots = 4;
    /// Of each lane of a ring. Copies of several streams get into each other's way more than they
    /// hide of each other's ends.
    unsigned streams = 1;
    bool automatic = true;
    By by = By::host;
    /// False: through MPI even where the ranks share memory.
    bool shared = true;
};

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// The largest chunk of a message that may take `slot` bytes a chunk. Each chunk costs a hand-over
/// of some microseconds, so that few large ones are best; how the first and the last fill and
/// empty the pipeline is the ramp's business.
constexpr std::size_t chunk_for(std::size_t message, std::size_t slot) {
    std::size_t chunk = least_chunk;
    while (chunk < most_chunk && chunk * 8 <= message) chunk *= 2;
    return std::min(chunk, slot);
}

/// The bytes of each chunk: from `least_chunk` doubling up to `chunk`, and so down again at the
/// end. The second copy of a chunk begins when the first is done: with a small chunk at each end
/// little is waited for.
inline std::vector<std::size_t> cut(std::size_t message, std::size_t chunk, bool ramps) {
    std::vector<std::size_t> up, middle;
    std::size_t left = message;
    for (std::size_t step = least_chunk; ramps && step < chunk && left > 4 * step; step *= 2) {
        up.push_back(step);
        left -= 2 * step;
    }
    do {
        middle.push_back(std::min(chunk, left));
        left -= middle.back();
    } while (left > 0);
    std::vector<std::size_t> all(up);
    all.insert(all.end(), middle.begin(), middle.end());
    all.insert(all.end(), up.rbegin(), up.rend());
    return all;
}

}  // namespace wirespeed::pipelined
