// What a ShareHandle of a GPU holds.
#pragma once

#include <cstdint>
#include <string>

#include "devices/gpu/driver.hpp"

namespace wirespeed::gpu {

struct SharedAllocation {
    char kind[8] = {};  ///< "cuda", "hip": a handle means nothing to another vendor
    VendorHandle handle = {};
    char pci[16] = {};          ///< where the memory is
    std::uint64_t offset = 0;   ///< from the start of the allocation
    std::uint64_t address = 0;  ///< in the process that shares it
    std::uint64_t process = 0;  ///< that process
};

ShareHandle pack(const SharedAllocation& shared);
/// Throws Error unless `handle` was packed by a device of this kind.
SharedAllocation unpack(const ShareHandle& handle, const std::string& kind);

/// Differs between processes, also between those that have the same number on two hosts or in two
/// containers.
std::uint64_t this_process();

}  // namespace wirespeed::gpu
