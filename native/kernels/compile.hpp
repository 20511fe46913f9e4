// The kernels' text made into machine code for one GPU, at run time. Needs no GPU.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/source.hpp"

namespace wirespeed {

struct KernelCode {
    std::string code;      ///< as cuModuleLoadData and hipModuleLoadData take it
    std::string compiler;  ///< "NVRTC 13.0"
};

/// A unit's kernels for "sm_90" (NVRTC) or "gfx90a" (hipRTC), from the user's cache where it has
/// them. Throws Error with the compiler's log.
KernelCode kernel_code(const KernelUnit& unit, const std::string& architecture);

/// A unit's code, by its name, compiled now and in this process.
std::string compile_here(std::string_view unit, const std::string& architecture);

/// The unit that has a kernel of this name; throws Error where none has.
const KernelUnit& unit_of(std::string_view kernel);

/// Compiles all kernels whatever the cache has; the code's size in bytes.
std::size_t compile_kernels(const std::string& architecture);

}  // namespace wirespeed
