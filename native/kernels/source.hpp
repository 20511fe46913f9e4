// The kernels' source text for run-time compilers; made by CMake from
// native/kernels/*.h and wirespeed/programs/*.h.
#pragma once

#include <string>

namespace wirespeed {

/// Every kernel header, in one translation unit without includes.
const std::string& kernel_source();

}  // namespace wirespeed
