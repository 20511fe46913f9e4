// How far apart ranks start their samples.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace wirespeed {

/// How samples began that a barrier precedes, and of each the lateness of the last rank of a host.
class StartSkew {
  public:
    std::string by;  ///< "agreed time", "MPI_Barrier", ...; empty where no sample began so

    void add(std::int64_t nanoseconds) {
        ++counts_[static_cast<std::size_t>(bin(nanoseconds))];
        ++samples_;
        largest_ = std::max(largest_, nanoseconds);
    }
    std::uint64_t samples() const { return samples_; }
    /// Seconds, to within 2.2 %.
    double median() const {
        std::uint64_t seen = 0;
        for (int i = 0; i < bins; ++i)
            if ((seen += counts_[static_cast<std::size_t>(i)]) * 2 >= samples_ && samples_)
                return i ? 1e-9 * std::exp2((i - 0.5) / per_octave) : 0;
        return 0;
    }
    double largest() const { return 1e-9 * static_cast<double>(largest_); }

  private:
    static constexpr int per_octave = 16, bins = 40 * per_octave;

    /// 0: not late at all; bin i: from 2^((i-1)/16) ns to 2^(i/16) ns.
    static int bin(std::int64_t nanoseconds) {
        if (nanoseconds < 1) return 0;
        const double octaves = std::log2(static_cast<double>(nanoseconds));
        return std::min(1 + static_cast<int>(octaves * per_octave), bins - 1);
    }

    std::array<std::uint64_t, bins> counts_{};
    std::uint64_t samples_ = 0;
    std::int64_t largest_ = 0;
};

}  // namespace wirespeed
