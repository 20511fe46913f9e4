// What a test run leaves to chance: random numbers from a seed.
#pragma once

#include <algorithm>
#include <random>

namespace wirespeed::cpu {

/// Changes nothing where the seed is 0.
class Random {
  public:
    Random(unsigned seed, unsigned long long block)
        : on_(seed != 0), random_(static_cast<unsigned>(seed + 7919 * block)) {}

    bool one_in(unsigned chances) { return on_ && random_() % chances == 0; }
    template <class Range> void shuffle(Range& range) {
        if (on_) std::shuffle(range.begin(), range.end(), random_);
    }

  private:
    bool on_;
    std::minstd_rand random_;
};

}  // namespace wirespeed::cpu
