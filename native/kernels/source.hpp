// The kernels' source text for run-time compilers; made by CMake from native/kernels/*.h and
// wirespeed/programs/*.h.
#pragma once

#include <string>
#include <vector>

namespace wirespeed {

/// What is compiled at a time, without includes: nobody waits for a program's kernels who measures
/// something else.
struct KernelUnit {
    std::string name;  ///< such as "data", or a program's
    std::string text;
};

/// A kernel that several have is the first one's.
const std::vector<KernelUnit>& kernel_units();

}  // namespace wirespeed
