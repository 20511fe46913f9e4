// One direction of one pair of ranks in one step, as far as it has come.
#pragma once

#include <cstddef>

#include "measure/page.hpp"

namespace wirespeed::pipelined {

/// A part of a message that goes through one slot.
struct Chunk {
    std::byte* address;  ///< in the device's buffer
    std::size_t bytes;
};

/// All movers of a step are driven by one loop, so that none waits for another.
class Mover {
  public:
    Mover(CallId call, int peer) : call_(call), peer_(peer) {}
    virtual ~Mover() = default;

    /// From the start, with the same chunks.
    virtual void start() = 0;
    /// Does what can be done now. True when all chunks have left or arrived in device memory.
    virtual bool progress() = 0;
    /// Lets streams run out that wait for a peer, after something failed: the path is not used
    /// again.
    virtual void abandon() noexcept {}

    CallId call() const { return call_; }
    int peer() const { return peer_; }

  private:
    CallId call_;
    int peer_;
};

}  // namespace wirespeed::pipelined
