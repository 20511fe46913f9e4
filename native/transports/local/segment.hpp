// A piece of memory that the ranks of one host share, zero at the start.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed {

/// Mapped shared memory; its name is gone as soon as all have opened it.
class Segment {
  public:
    Segment() = default;
    ~Segment();
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;

    std::byte* address() const { return address_; }
    std::size_t bytes() const { return bytes_; }

    /// Pins it for `device`; back comes its address there. Once, and before the device is gone.
    std::byte* pin(Device& device);

  private:
    friend class HostSegments;
    std::byte* address_ = nullptr;
    std::size_t bytes_ = 0;
    Device* pinned_ = nullptr;
    std::byte* on_device_ = nullptr;
};

/// One segment of each rank, by rank; those of other hosts are empty. Every rank calls it.
/// Throws Error on every rank when one cannot make its own or open another's.
std::vector<Segment> share_segments(Control& control, std::size_t bytes_each);

/// The ranks that share memory with this one and read the same clock, itself too.
struct HostRanks {
    int count, before;  ///< all of them, and those below this one
    int first;          ///< the lowest one's number in the world
};
/// Every rank calls it.
HostRanks ranks_of_host(Control& control);

/// One segment for all these ranks, which the first of them makes and prepares. Every rank calls
/// it. Throws Error on every rank when one cannot make or open its own.
Segment share_segment(Control& control, const HostRanks& here, std::size_t bytes,
                      const std::function<void(Segment&)>& prepare);

/// For each rank: does it share memory with this one? Every rank calls it.
std::vector<bool> same_host(Control& control);

}  // namespace wirespeed
