// Is this address ordinary memory of the host's?
#pragma once

namespace wirespeed::openmp {

/// Reads /proc/self/maps. GPUs' memory is not mapped there, or has no access rights, or is a
/// driver's file; what malloc hands out is private, writable and of no file.
bool in_host_memory(const void* address);

}  // namespace wirespeed::openmp
