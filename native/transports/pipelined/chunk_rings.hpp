// The rings of slots that chunks go through: in memory that two ranks of a host share, or private
// ones between which MPI sends the chunks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "transports/local/segment.hpp"
#include "transports/pipelined/shape.hpp"

namespace wirespeed::pipelined {

/// Who sends to whom, over the whole world.
class PairSet {
  public:
    /// Every rank calls it with its own steps.
    PairSet(Control& control, std::span<const Step> steps);
    bool has(int from, int to) const { return there_[index(from, to)] != 0; }
    bool covers(const PairSet& others) const;
    void add(const PairSet& others);
    int ranks() const { return ranks_; }

  private:
    std::size_t index(int from, int to) const {
        return static_cast<std::size_t>(to) * static_cast<std::size_t>(ranks_) +
               static_cast<std::size_t>(from);
    }
    int ranks_;
    std::vector<char> there_;
};

/// A counter that one side raises and the other waits for, on a cache line of its own.
struct alignas(64) RingCounter {
    std::uint32_t value;
};

/// This rank's side of one direction of one pair. In a shared ring, chunk number q uses slot
/// q mod slots, for the (q / slots + 1)-th time: that is what `filled` of the slot says when the
/// sender has filled it, and `freed` when the receiver has emptied it.
struct ChunkRing {
    int peer = -1;
    bool shared = false;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::unique_ptr<Event>> ends;  ///< of each slot's copy, in the slot's stream
    std::byte* slots = nullptr;  ///< as the device sees it where shared, else host memory
    std::size_t stride = 0;
    unsigned count = 0;
    std::uint64_t moved = 0;  ///< chunks so far; only where shared
    RingCounter *filled = nullptr, *freed = nullptr;
    RingCounter *filled_on_device = nullptr, *freed_on_device = nullptr;
    Allocation own;  ///< the slots, where not shared

    std::byte* slot(std::uint64_t number) const { return slots + number % count * stride; }
};

/// All rings of this rank. Made by all ranks together, which fail together.
class ChunkRings {
  public:
    ChunkRings(Context& context, const Options& options, PairSet pairs, std::vector<bool> here);

    const PairSet& pairs() const { return pairs_; }
    ChunkRing& to(int peer) { return to_.at(peer); }
    ChunkRing& from(int peer) { return from_.at(peer); }
    std::size_t slot_bytes() const { return slot_bytes_; }
    unsigned slots() const { return options_.slots; }
    /// Of this rank.
    std::size_t pinned_bytes() const { return pinned_bytes_; }
    bool any_shared() const { return any_shared_; }
    bool any_messages() const { return any_messages_; }
    /// Can streams wait for words and write them, on every rank? Else why not.
    const std::string& why_by_host() const { return why_by_host_; }

  private:
    struct RingCounts {
        int incoming_shared = 0, messages = 0;
    };
    RingCounts counts() const;
    bool shares(int peer) const { return here_[static_cast<std::size_t>(peer)]; }
    std::size_t word_bytes() const { return rounded_up(2 * options_.slots * sizeof(RingCounter)); }
    std::size_t ring_bytes() const;
    void share(Control& control, std::size_t rings);
    ChunkRing open_ring(int from, int to, int peer);
    void try_stream(Stream& stream, std::byte* segment);

    Context& context_;
    Options options_;
    PairSet pairs_;
    std::vector<bool> here_;
    int me_;
    std::size_t slot_bytes_ = 0, pinned_bytes_ = 0;
    bool any_shared_ = false, any_messages_ = false;
    std::string why_by_host_;
    std::vector<Segment> segments_;  ///< before the rings, whose streams use them
    std::map<int, ChunkRing> to_, from_;
};

}  // namespace wirespeed::pipelined
