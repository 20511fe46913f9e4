// How a message is cut into chunks, and how much pinned memory the rings may take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "transports/transport.hpp"

namespace wirespeed::pipelined {

constexpr std::size_t page = 4096;
constexpr std::size_t least_chunk = std::size_t{256} << 10;
constexpr std::size_t most_chunk = std::size_t{4} << 20;
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
    unsigned slots = 8;
    /// Of each lane whose chunks the device hands over. With two, one copies while the other's
    /// words are handled.
    unsigned streams = 2;
    bool automatic = true;
    By by = By::streams;
    /// False: through MPI even where the ranks share memory.
    bool shared = true;
};

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// The chunk for a message that may take `slot` bytes a chunk. Filling the pipeline costs one chunk
/// and each chunk costs a hand-over, so that the best chunk grows with the root of the message:
/// 256 KiB up to 4 MiB, 1 MiB at 64 MiB, 4 MiB from 1 GiB.
constexpr std::size_t chunk_for(std::size_t message, std::size_t slot) {
    constexpr std::size_t handover = std::size_t{16} << 10;
    std::size_t chunk = least_chunk;
    while (chunk < most_chunk && chunk * chunk < message * handover) chunk *= 2;
    return std::min(chunk, slot);
}

}  // namespace wirespeed::pipelined
