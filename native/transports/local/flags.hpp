// Words in shared memory by which the ranks of one host signal to each other how far they are.
#pragma once

#include <cstdint>
#include <vector>

#include "core/shared_words.hpp"
#include "transports/local/segment.hpp"

namespace wirespeed {

/// For each ordered pair of ranks two counters that only grow: how many messages `writer` has sent
/// to `reader`, and how many of the reader's it has taken (or is ready for).
class Flags {
  public:
    /// Every rank calls it; throws Error on every rank when one cannot share memory.
    explicit Flags(Context& context);

    enum Kind { arrived, taken };
    /// The word that `writer` raises and `reader` looks at, for the CPU.
    std::uint32_t& word(int reader, int writer, Kind kind);
    /// Its address on this rank's device. Throws Error when the device cannot reach host memory.
    std::uint32_t* on_device(int reader, int writer, Kind kind);

    /// Spins until the word has reached `value`.
    void wait(std::uint32_t& word, std::uint32_t value) const;

  private:
    static std::size_t place(int writer, Kind kind) {
        return (2 * static_cast<std::size_t>(writer) + kind) * cache_line;
    }

    Context& context_;
    std::vector<Segment> segments_;  ///< by reader
};

}  // namespace wirespeed
