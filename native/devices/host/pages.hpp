// Page-aligned host memory, touched, so that first-touch page faults stay out of the timings.
#pragma once

#include <cstddef>

namespace wirespeed::host {

/// Throws Error when the machine has not so much.
void* allocate_pages(std::size_t bytes);
void release_pages(void* address) noexcept;

}  // namespace wirespeed::host
