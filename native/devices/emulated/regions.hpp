// "Device" memory of the emulated GPU: one memfd mapped twice. The address handed out has no access
// rights, so a CPU that touches it faults as it would on a real GPU's memory; the second mapping is
// what the emulated GPU's own copies and kernels use.
#pragma once

#include <sys/types.h>
#include <cstddef>

#include "devices/device.hpp"

namespace wirespeed::emulated {

struct Region {
    std::byte* device = nullptr;  ///< faults on touch
    std::byte* view = nullptr;    ///< the same bytes, accessible
    std::size_t bytes = 0;
    int owner = 0;  ///< index of the emulated GPU that allocated it
    int descriptor = -1;
    bool from_peer = false;  ///< opened from another process's handle
    bool shareable = true;   ///< by a handle
};

void* create_region(std::size_t bytes, int owner, bool shareable = true);
void destroy_region(void* address) noexcept;

/// The region that holds `address`, if any; safe to call from any thread.
bool find_region(const void* address, Region& found);
/// The accessible address of a byte of a region; any other address unchanged.
void* view_of(void* address);

ShareHandle share_region(void* address);
void* open_region(const ShareHandle& handle);

}  // namespace wirespeed::emulated
