// The clock that kernels read, compared with the host's.
#pragma once

#include <string>

#include "kernels/persistent_types.h"
#include "transports/transport.hpp"

namespace wirespeed {

/// What the kernels say of the platform that they run on.
struct PlatformFacts {
    u64 has_tma, clock_step, packet_bytes, most_threads;
};
PlatformFacts platform_facts(Device& device);

struct GpuClock {
    double tick;  ///< seconds that one count stands for
    double step;  ///< the smallest difference of two readings, in seconds
};

/// This rank's tick, and the coarsest step of all. Every rank calls it. Throws Unavailable where
/// nobody says how fast the clock counts, Error where it counts otherwise; `path` is how the user
/// calls what needs the clock.
GpuClock agreed_clock(Context& context, const PlatformFacts& facts, const std::string& path);

}  // namespace wirespeed
