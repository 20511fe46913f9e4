// Named ranges for a profiler that is attached to this process: NVTX (NVIDIA's tools and those that
// read it) and roctx (AMD's).
#pragma once

#include <string>
#include <vector>

namespace wirespeed {

/// Looks for profilers, once, and opens a library only where one is attached: "nvtx", "roctx".
std::vector<std::string> open_ranges();

/// Ranges of the calling thread, which nest; a few nanoseconds each where no profiler is attached.
void push_range(const char* name);
void pop_range();
/// What profilers call the calling thread.
void name_thread(const char* name);

}  // namespace wirespeed
