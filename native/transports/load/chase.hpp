// A chain of links in memory that this rank's GPU reaches, and the kernel that follows it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "measure/program.hpp"
#include "transports/gpu/clock.hpp"

namespace wirespeed {

class Chase {
  public:
    /// Writes a chain over `bytes` bytes at `chain`: whole lines, at least two. `wrong`, for tests:
    /// the number of a link that leaves the next one out.
    Chase(Context& context, GpuClock clock, std::byte* chain, std::size_t bytes, u64 wrong);

    /// The schedule's iterations, each of which is one load, from where the last call ended.
    /// seconds[i] as Program::run has them, by the GPU's clock. Back comes what is wrong: empty if
    /// the kernel came to the link that it had to come to.
    std::string run(const Schedule& schedule, std::span<double> seconds);

    u64 links() const { return links_; }

  private:
    std::span<const u64> launch(u64 untimed, u64 each, u64 samples);

    Context& context_;
    GpuClock clock_;
    CallId running_;
    std::unique_ptr<Stream> stream_;
    u64 links_, at_, number_ = 0, expected_ = 0;
    unsigned blocks_;
    u64 apart_, block_ = 0;  ///< a launch's loads are those of one block, each time another one
    Allocation found_, found_here_;  ///< on the device, and its copy in pinned memory
};

}  // namespace wirespeed
