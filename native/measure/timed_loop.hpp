// The one timed loop: it lets any program run, and makes seconds of its stamps.
#pragma once

#include <span>

#include "measure/program.hpp"

namespace wirespeed {

/// A batch's seconds by two clocks: from its first iteration's begin to its last one's end.
struct BatchClocks {
    enum Verdict {
        agree = 0,
        long_stamps = 1,   ///< the program's clock counts more than the host's clock around it
        short_stamps = 2,  ///< the host's clock counts more than the stamps can explain
    };
    double host = 0;     ///< 0: the rank had no part in the batch
    double stamped = 0;  ///< its samples, and what came before the first one
    Verdict verdict = agree;
};

/// Runs so many iterations, of which none is a figure; back comes about how long each one took.
double run_untimed(Program& program, int iterations);

/// Runs the schedule. seconds[i]: sample i's time divided by its iterations. At least one iteration
/// comes before the first sample, whatever the schedule says: a sample is the time between two
/// completions of iterations of one uninterrupted run.
BatchClocks run_samples(Program& program, Schedule schedule, std::span<double> seconds);

/// Do the two clocks contradict each other? `around`: the host's clock from before begin() to after
/// settle(), of a batch that has samples.
BatchClocks compared(const Stamps& stamps, double around);

}  // namespace wirespeed
