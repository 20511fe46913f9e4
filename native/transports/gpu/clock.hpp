// The clock that kernels read, compared with the host's.
#pragma once

#include <span>
#include <string>

#include "kernels/persistent_types.h"
#include "transports/transport.hpp"

namespace wirespeed {

/// What the kernels say of the platform that they run on.
struct Facts {
    u64 has_tma, clock_step, packet_bytes, most_threads;
};
Facts platform_facts(Device& device);

struct GpuClock {
    double tick;  ///< seconds that one count stands for
    double step;  ///< the smallest difference of two readings, in seconds

    /// Seconds from the first stamp to the last one. `took`: what the launch took the host. Throws
    /// Error where the clock counted more time than that, or went backwards. (It may count less: a
    /// peer's kernel begins when it can.)
    double counted(std::span<const u64> stamps, double took) const;
};

/// This rank's tick, and the coarsest step of all. Every rank calls it. Throws Unavailable where
/// nobody says how fast the clock counts, Error where it counts otherwise; `path` is how the user
/// calls what needs the clock.
GpuClock agreed_clock(Context& context, const Facts& facts, const std::string& path);

}  // namespace wirespeed
