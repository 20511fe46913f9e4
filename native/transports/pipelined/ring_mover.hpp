// Chunks through a ring that two ranks of a host share: one side's copies fill the slots, the other
// side's empty them.
#pragma once

#include <vector>

#include "transports/pipelined/chunk_rings.hpp"
#include "transports/pipelined/mover.hpp"

namespace wirespeed::pipelined {

enum class RingSide { send, receive };

class RingMover final : public Mover {
  public:
    RingMover(Context& context, ChunkRing& ring, RingSide direction, std::vector<Chunk> chunks,
              By by);
    void start() override { begun_ = next_ = passed_ = 0; }
    bool progress() override;
    void abandon() noexcept override;

  private:
    std::uint64_t number(std::size_t chunk) const { return ring_.moved + chunk; }
    std::uint32_t turn(std::size_t chunk) const {
        return static_cast<std::uint32_t>(number(chunk) / ring_.count + 1);
    }
    std::size_t place(std::size_t chunk) const {
        return static_cast<std::size_t>(number(chunk) % ring_.count);
    }
    /// The word's value from which on `chunk` may be copied.
    std::uint32_t opens_at(std::size_t chunk) const {
        return direction_ == RingSide::send ? turn(chunk) - 1 : turn(chunk);
    }
    /// By the CPU a slot has its stream; else the streams have their turns in each step.
    Stream& stream(std::size_t chunk) {
        return *ring_.streams[by_ == By::host ? place(chunk) % ring_.streams.size()
                                              : chunk % streams_];
    }
    bool enqueue(std::size_t chunk);
    void copy(std::size_t chunk);
    void pass();
    bool ended();
    /// Does a stream tell the peer that `chunk` is done? Slots that this step does not use again
    /// can wait for the CPU to do it, once the step is over.
    bool told_by_stream(std::size_t chunk) const {
        return by_ != By::host &&
               (direction_ == RingSide::send || chunk + ring_.count < chunks_.size());
    }

    Device& device_;
    ChunkRing& ring_;
    RingSide direction_;
    std::vector<Chunk> chunks_;
    By by_;
    RingCounter *gates_, *gates_on_device_, *signals_, *signals_on_device_;
    bool at_once_;  ///< one chunk by the CPU: nothing could be done while a stream copies it
    std::size_t streams_, window_;
    std::size_t begun_ = 0;   ///< chunks whose waits are enqueued
    std::size_t next_ = 0;    ///< chunks enqueued
    std::size_t passed_ = 0;  ///< chunks known to be copied, in order
};

}  // namespace wirespeed::pipelined
