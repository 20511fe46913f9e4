// A soak: a pattern's steps again and again, each message of another content, checked while the
// next transfers run, by a kernel, or by the CPU in its memory. No host looks at it meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/soak_types.h"
#include "soak/planted_fault.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

struct SoakCounts {
    std::uint64_t iterations = 0;
    WsSoak state{};
    int sender = -1;  ///< of the first wrong message
};

class Soak {
  public:
    /// Collective. `steps`: of one iteration. Messages of ws_soak_places iterations take turns in
    /// places that lie `apart` bytes from each other, the same on all ranks. `timed` moves these
    /// steps: the soak does it in the same way, where that can be checked.
    Soak(Transport& transport, Context& context, std::vector<Step> steps, const Buffers& buffers,
         std::size_t apart, const Program& timed, const PlantedFault& fault);

    /// Collective. So many rounds of ws_soak_places iterations without interruption; seconds of an
    /// iteration.
    double run(int rounds);
    /// Collective, the last call. One more round, in which nothing is planted: every message has
    /// its verdict then.
    void settle();
    /// This rank's so far. A wrong message has its verdict once the next one has arrived.
    SoakCounts counts() const;
    std::string describe() const { return program_->describe(); }

  private:
    struct Turn {
        std::uint64_t first = 0, checks = 0, fills = 0;
        std::size_t bytes = 0;
    };
    void add_places(Turn& turn, std::span<const Transfer> transfers, bool sends, std::size_t shift,
                    std::uint64_t iteration);
    std::vector<Work> work_of(const Turn& turn, bool always) const;
    void start();

    Context& context_;
    Buffers buffers_;
    Memory kind_;
    PlantedFault fault_;
    std::vector<WsSoakPlace> places_;
    std::vector<int> peers_;
    std::vector<bool> sends_;
    Allocation state_, table_, looks_, aside_;
    std::vector<Work> last_turn_;  ///< where turns follow by a step, and settle() is to end them
    std::unique_ptr<Program> program_;
    std::uint64_t iterations_ = 0;
};

}  // namespace wirespeed
