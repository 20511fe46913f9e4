// CUDA's copies, counted by CUPTI for the whole process: those of libraries, too.
#pragma once

#include "devices/copy_counts.hpp"

namespace wirespeed::cuda {

/// Counts from zero on, or no more. It slows the process down while it counts. Throws Unavailable
/// where there is no CUPTI, or another tool uses it.
void watch_copies(bool on);

/// All copies since watch_copies(true) that are done.
CopyCounts copies();

}  // namespace wirespeed::cuda
