// A chain of links in memory that this rank's GPU reaches, and the kernel that follows it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "measure/program.hpp"
#include "transports/gpu/clock.hpp"

namespace wirespeed {

/// Writes a chain into this rank's memory: over whole lines of `bytes` bytes, two at least.
/// `reader`: its address as the GPU reaches it that follows it. `wrong`, for tests: the number of a
/// link that leaves the next one out. Done by the GPU that owns the memory, so that its cache holds
/// as much of the chain as after any pass over it.
void write_chain(Device& device, const std::byte* chain, u64 reader, std::size_t bytes, u64 wrong);

class Chase {
  public:
    /// `chain`: where write_chain() has written one, as this rank's GPU reaches it.
    Chase(Context& context, GpuClock clock, u64 chain, std::size_t bytes);

    /// The schedule's iterations, each of which is one load, from where the last call ended; their
    /// stamps by the GPU's clock, between launches at a halt.
    Stamps run(const Schedule& schedule);
    /// What is wrong: empty if the kernel has come to the link that it had to come to.
    std::string wrong() const;

    u64 links() const { return links_; }

  private:
    std::span<const u64> launch(u64 untimed, u64 each, u64 samples);

    Context& context_;
    GpuClock clock_;
    CallId running_;
    std::unique_ptr<Stream> stream_;
    u64 links_, at_, number_ = 0, expected_ = 0, loads_ = 0, launches_ = 0;
    unsigned blocks_;
    u64 apart_, block_ = 0;  ///< a launch's loads are those of one block, each time another one
    Allocation found_, found_here_;  ///< on the device, and its copy in pinned memory
};

}  // namespace wirespeed
