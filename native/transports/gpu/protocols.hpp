// The protocols by which the messages of a GPU's program can move, each with numbers of blocks and
// threads, and the fastest of them, by measuring.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "transports/gpu/persistent.hpp"

namespace wirespeed {

class Protocols {
  public:
    static constexpr std::uint32_t most_blocks = Tuning::most_blocks;

    /// `blocks`: how many may wait for each other on every rank's GPU.
    Protocols(Context& context, const PlatformFacts& facts, std::uint32_t blocks)
        : context_(context), facts_(facts), blocks_(blocks) {}

    std::uint32_t blocks() const { return blocks_; }

    /// What is worth trying for messages of so many bytes; the options' protocol alone if they name
    /// one.
    std::vector<Tuning> candidates(std::size_t bytes, std::size_t packets,
                                   const OpList& op_list) const;

    /// Lets the program use the tuning whose iterations are the shortest on the slowest rank.
    /// Programs of the same numbers move the same bytes between the same ranks: they are not
    /// measured again. `bytes`: of its largest message.
    void choose(PersistentProgram& program, std::vector<Tuning> tunings, std::size_t bytes,
                std::vector<u64> numbers);
    /// One that is to move its messages as another one does.
    void take(PersistentProgram& program, const Tuning& tuning) { try_one(program, tuning, 0); }

  private:
    using Chosen = std::pair<std::vector<u64>, Tuning>;
    using Tried = std::pair<double, Tuning>;  ///< seconds of an iteration

    std::vector<Tuning> asked_for(std::vector<Tuning> tunings, const Choices& choices) const;
    std::uint32_t whole_warps(std::size_t threads) const;
    int chosen_before(const std::vector<u64>& numbers) const;
    std::vector<Tuning> worth_trying(std::vector<Tuning> tunings, std::size_t bytes) const;
    Tuning fastest(PersistentProgram& program, const std::vector<Tuning>& tunings);
    Tuning settled(PersistentProgram& program, std::vector<Tried> tried);
    void keep_fastest(std::vector<Tried>& tried, std::size_t count);
    double try_one(PersistentProgram& program, const Tuning& tuning, double least);

    Context& context_;
    const PlatformFacts& facts_;
    std::uint32_t blocks_;
    std::vector<Chosen> chosen_;  ///< for the programs so far
    std::vector<Tuning> fast_;    ///< the fastest few for the latest message that was long
    std::size_t fast_bytes_ = 0;  ///< of the latest message
    bool slow_ = false;           ///< Did an iteration of it last long?
};

}  // namespace wirespeed
