// The kernels' text made into machine code for one GPU, at run time. Needs no GPU.
#pragma once

#include <cstddef>
#include <string>

namespace wirespeed {

struct KernelCode {
    std::string code;      ///< as cuModuleLoadData and hipModuleLoadData take it
    std::string compiler;  ///< "NVRTC 13.0"
};

/// All kernels for "sm_90" (NVRTC) or "gfx90a" (hipRTC), from the user's cache where it has them.
/// Throws Error with the compiler's log.
KernelCode kernel_code(const std::string& architecture);

/// Compiles them whatever the cache has; the code's size in bytes.
std::size_t compile_kernels(const std::string& architecture);

}  // namespace wirespeed
