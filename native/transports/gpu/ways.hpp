// The ways in which the messages of a GPU's program can move, and the fastest of them, by
// measuring.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "transports/gpu/play.hpp"

namespace wirespeed {

/// What the kernels say of the platform that they run on.
struct Facts {
    u64 has_bulk, clock_step, packet_bytes, most_threads;
};

class Ways {
  public:
    static constexpr std::uint32_t most_blocks = 256;

    /// `blocks`: how many may wait for each other on every rank's GPU.
    Ways(Context& context, const Facts& facts, std::uint32_t blocks)
        : context_(context), facts_(facts), blocks_(blocks) {}

    std::uint32_t blocks() const { return blocks_; }

    /// The ways worth trying for messages of so many bytes; those of the options alone if they name
    /// one. `near`: they fit the rings of packets; `guarded`: a message may come before its turn.
    std::vector<Method> candidates(std::size_t bytes, std::size_t packets, bool near,
                                   bool guarded) const;

    /// Lets the program use the way whose rounds are the shortest on the slowest rank. Programs of
    /// the same numbers move the same bytes between the same ranks: they are not measured again.
    void choose(PlayProgram& program, const std::vector<Method>& ways, std::vector<u64> numbers);

  private:
    using Chosen = std::pair<std::vector<u64>, Method>;
    using Tried = std::pair<double, Method>;  ///< seconds of a round

    std::vector<Method> asked_for(std::vector<Method> ways, bool near, bool guarded) const;
    std::uint32_t whole_warps(std::size_t threads) const;
    int chosen_before(const std::vector<u64>& numbers) const;
    Method fastest(PlayProgram& program, const std::vector<Method>& ways);
    Method settled(PlayProgram& program, std::vector<Tried> tried);
    double try_way(PlayProgram& program, const Method& way);

    Context& context_;
    const Facts& facts_;
    std::uint32_t blocks_;
    std::vector<Chosen> chosen_;  ///< for the programs so far
};

}  // namespace wirespeed
