// OpenMP's and OpenACC's runtimes as allocators of a device's memory.
#pragma once

#include <memory>
#include <string_view>

#include "devices/device.hpp"

namespace wirespeed {

/// "openmp", "openmp:map", "openacc" or "openacc:map" for the device of this number; null for any
/// other word. With ":map" the memory belongs to a block of the host's, which the runtime knows.
/// Throws Unavailable where there is no runtime with such a device.
std::unique_ptr<Allocator> runtime_allocator(std::string_view name, int device);

}  // namespace wirespeed
