// Compiled kernels kept between runs, so that ranks start fast. Whatever goes wrong with the cache
// (no home, a full disk, a torn file) only means compiling again.
#pragma once

#include <string>

namespace wirespeed {

/// What was stored for `key`, or "".
std::string load_cached(const std::string& key);
void store_cached(const std::string& key, const std::string& code) noexcept;

}  // namespace wirespeed
