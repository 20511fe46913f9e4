#pragma once

#include <cstdint>
#include <ctime>

namespace wirespeed {

/// The second in which the process first read the clock: small differences keep a double's
/// nanoseconds exact however long the machine has been up.
inline const std::time_t first_second = [] {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}();

/// Seconds on the monotonic clock since about the start of the process.
inline double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec - first_second) +
           1e-9 * static_cast<double>(time.tv_nsec);
}

/// Nanoseconds on the same clock, as all processes of a host read it.
inline std::int64_t monotonic_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

/// The same moment as now() counts it.
inline double as_now(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds / 1'000'000'000 - first_second) +
           1e-9 * static_cast<double>(nanoseconds % 1'000'000'000);
}

/// What one reading of the clock costs, in seconds: the median of many.
double clock_cost();
/// The smallest step seen between two different readings, in seconds.
double clock_resolution();

}  // namespace wirespeed
