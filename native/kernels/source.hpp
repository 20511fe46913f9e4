// The kernels' source text for run-time compilers; made from native/kernels/*.h by CMake.
#pragma once

#include <string>

namespace wirespeed {

/// platform.h and every kernel header, in one translation unit without includes.
const std::string& kernel_source();

}  // namespace wirespeed
