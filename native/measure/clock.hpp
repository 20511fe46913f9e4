#pragma once

#include <ctime>

namespace wirespeed {

/// Seconds on the monotonic clock.
inline double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What one reading of the clock costs, in seconds: the median of many.
double clock_cost();
/// The smallest step seen between two different readings, in seconds.
double clock_resolution();

}  // namespace wirespeed
