// A device whose buffers another allocator hands out; kernels, streams and copies stay its own.
#pragma once

#include <memory>
#include <string>

#include "devices/device.hpp"

namespace wirespeed {

/// Opens a device with the allocator of this name; "driver" is the device as it is. `own_context`:
/// the allocator hands out memory before any context is current, and the device is used by
/// whatever context that leaves. Throws Error.
std::unique_ptr<Device> open_with_allocator(const DeviceKind& kind, int index,
                                            const std::string& name, bool own_context);

}  // namespace wirespeed
