// Memory made and mapped by cuMemCreate, as frameworks' own allocators get it.
#pragma once

#include <memory>

#include "devices/device.hpp"
#include "libraries/cuda_driver.hpp"

namespace wirespeed::cuda {

/// Throws Unavailable where the driver has no such calls (CUDA 10.2).
std::unique_ptr<Allocator> mapped_memory(const Cuda::Calls& calls, Cuda::Device device);

}  // namespace wirespeed::cuda
