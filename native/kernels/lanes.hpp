// The lanes of a block take turns: each runs until it waits, for the others at a barrier or for
// whatever it spins on.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu.hpp"
#include "kernels/fiber.hpp"
#include "kernels/random.hpp"

namespace wirespeed::cpu {

/// Thrown where another block of the launch has failed: nobody need go on.
struct Abandoned {};

class Lanes {
  public:
    Lanes(const Launch& launch, unsigned block, const std::atomic<bool>& failed);

    /// Runs `body` in every lane. Throws what a lane threw, and Error where one waits at a barrier
    /// that another lane passed by.
    void run(const std::function<void()>& body);

    // Called by the body.
    void meet(Site site) { wait(State::at_barrier, site); }
    void meet_warp(Site site) { wait(State::at_warp_barrier, site); }
    void pause();
    void give_up() {
        const Unseen unseen;
        ending_ = true;
    }

  private:
    enum class State { runs, at_barrier, at_warp_barrier, returned };
    struct Lane {
        std::unique_ptr<Fiber> fiber;  ///< none where a lane is alone
        State state = State::runs;
        Site site;
        /// Of the block and of the warp: how many barriers it has come to, and places that stand
        /// for those of its group; two, for a lane may be at the next one already.
        unsigned barriers[2] = {};
        char places[2][2] = {};
    };
    /// Those that wait for each other in `waits`.
    struct BarrierGroup {
        std::size_t first, last;
        State waits;
    };

    void wait(State state, Site site);
    void take_turns();
    bool open_barriers();
    bool open(const BarrierGroup& group);
    std::string text(const Lane& lane) const;

    std::vector<Lane> lanes_;
    const std::atomic<bool>& failed_;
    Random random_;
    bool ending_ = false;
    std::exception_ptr thrown_;
};

}  // namespace wirespeed::cpu
