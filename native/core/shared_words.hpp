// Words that several processors read and write.
#pragma once

#include <cstddef>

namespace wirespeed {

/// What different processors write lies so many bytes apart, or each write would take the line from
/// the other.
constexpr std::size_t cache_line = 128;

/// Looks at a word that another processor writes before a CPU lets others run.
constexpr int spins_before_yield = 20000;

}  // namespace wirespeed
