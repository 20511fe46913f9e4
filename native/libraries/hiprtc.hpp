// hipRTC, AMD's run-time compiler: a library of its own, or a part of the HIP runtime before ROCm
// 5.3. tests/native holds every declaration against hip/hiprtc.h and amd_comgr.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libraries/runtime_compiler.hpp"

namespace wirespeed::hiprtc {

// clang-format off
#define WS_HIPRTC_CALLS(CALL) \
    CALL(version, hiprtcVersion) \
    CALL(error_string, hiprtcGetErrorString) \
    CALL(create, hiprtcCreateProgram) \
    CALL(compile, hiprtcCompileProgram) \
    CALL(log_size, hiprtcGetProgramLogSize) \
    CALL(log, hiprtcGetProgramLog) \
    CALL(code_size, hiprtcGetCodeSize) \
    CALL(code, hiprtcGetCode) \
    CALL(destroy, hiprtcDestroyProgram)

// The code generator below hipRTC, asked only which GPUs it knows.
#define WS_COMGR_CALLS(CALL) \
    CALL(isa_count, amd_comgr_get_isa_count, int(std::size_t*)) \
    CALL(isa_name, amd_comgr_get_isa_name, int(std::size_t, const char**))
// clang-format on

/// Throws Error when there is no hipRTC.
RuntimeCompiler open();

/// The GPUs it compiles for ("gfx906", "gfx90a", ...), or nothing where that cannot be found out.
/// hipRTC 5 does not refuse a GPU that it does not know: it ends the process.
std::vector<std::string> architectures();

}  // namespace wirespeed::hiprtc
