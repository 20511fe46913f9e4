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
inline RuntimeCompiler open() {
    const Library library("nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                    "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
    RuntimeCompiler table;
#define WS_BIND(member, symbol) library.bind(table.member, #symbol);
#define WS_BIND_IF_THERE(member, symbol)                                                           \
    table.member = reinterpret_cast<decltype(table.member)>(library.find(#symbol));
    WS_NVRTC_CALLS(WS_BIND)
    WS_NVRTC_NEWER_CALLS(WS_BIND_IF_THERE)
#undef WS_BIND
#undef WS_BIND_IF_THERE
    return table;
}

}  // namespace wirespeed::nvrtc
