// How a schedule's iterations are cut into stretches, after each of which the kernel takes a stamp
// and so shows that it goes on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "measure/program.hpp"

namespace wirespeed {

struct Stretches {
    /// `bytes`: that an iteration moves. A stretch of any protocol takes well below a second.
    Stretches(const Schedule& schedule, std::uint64_t bytes) {
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 32, most = std::uint64_t{1} << 17,
                                short_message = 16 << 10;
        each = static_cast<int>(
            std::clamp(most_bytes / (bytes + short_message), std::uint64_t{1}, most));
        before = std::max(schedule.untimed - 1, 0) / each;
        first = schedule.untimed - before * each;
        parts = (schedule.iterations_per_sample - 1) / each + 1;
        rest = schedule.iterations_per_sample - (parts - 1) * each;
        timed = static_cast<std::size_t>(schedule.samples) * static_cast<std::size_t>(parts);
    }

    int each;           ///< iterations of a stretch, but for the first one and a sample's last one
    int first, before;  ///< the first stretch's iterations; untimed stretches that follow it
    int parts, rest;    ///< stretches of a sample, and the iterations of the last one
    std::size_t timed;  ///< stretches of all samples

    std::size_t all() const { return static_cast<std::size_t>(before) + timed; }
    /// At the begin, and after each stretch.
    std::size_t stamps() const { return all() + 2; }
    /// The stamp at which a sample begins.
    std::size_t begin_of(int sample) const {
        return 1 + static_cast<std::size_t>(before) +
               static_cast<std::size_t>(sample) * static_cast<std::size_t>(parts);
    }
};

}  // namespace wirespeed
