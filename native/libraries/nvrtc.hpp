// NVRTC, NVIDIA's run-time compiler. tests/native holds every declaration against nvrtc.h.
#pragma once

#include "libraries/runtime_compiler.hpp"

namespace wirespeed::nvrtc {

// clang-format off
#define WS_NVRTC_CALLS(CALL) \
    CALL(version, nvrtcVersion) \
    CALL(error_string, nvrtcGetErrorString) \
    CALL(create, nvrtcCreateProgram) \
    CALL(compile, nvrtcCompileProgram) \
    CALL(log_size, nvrtcGetProgramLogSize) \
    CALL(log, nvrtcGetProgramLog) \
    CALL(code_size, nvrtcGetCUBINSize) \
    CALL(code, nvrtcGetCUBIN) \
    CALL(destroy, nvrtcDestroyProgram) \
    CALL(assembly_size, nvrtcGetPTXSize) \
    CALL(assembly, nvrtcGetPTX)

#define WS_NVRTC_NEWER_CALLS(CALL) \
    CALL(architecture_count, nvrtcGetNumSupportedArchs) \
    CALL(architectures, nvrtcGetSupportedArchs)
// clang-format on

/// Throws Error when there is no NVRTC.
RuntimeCompiler open();

}  // namespace wirespeed::nvrtc
