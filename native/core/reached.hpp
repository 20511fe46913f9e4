// Counters that only grow, in memory that others write: flags and credits.
#pragma once

#include <atomic>
#include <cstdint>

namespace wirespeed {

/// Has the counter in shared memory reached `value`? Wraps around: they lie less than 2^31 apart.
/// What was written before the counter was raised is visible when it has.
inline bool reached(std::uint32_t& counter, std::uint32_t value) {
    const std::uint32_t seen = std::atomic_ref(counter).load(std::memory_order_acquire);
    return static_cast<std::int32_t>(seen - value) >= 0;
}

inline void raise(std::uint32_t& counter, std::uint32_t value) {
    std::atomic_ref(counter).store(value, std::memory_order_release);
}

}  // namespace wirespeed
