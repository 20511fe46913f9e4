// hipRTC, AMD's run-time compiler: a library of its own, or a part of the HIP runtime before ROCm
// 5.3. tests/native holds every declaration against hip/hiprtc.h and amd_comgr.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/error.hpp"
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
inline RuntimeCompiler open() {
    const Library library("hiprtc",
                          {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
                           "/opt/rocm/lib/libhiprtc.so", "libamdhip64.so.5", "libamdhip64.so"});
    RuntimeCompiler table;
#define WS_BIND(member, symbol) library.bind(table.member, #symbol);
    WS_HIPRTC_CALLS(WS_BIND)
#undef WS_BIND
    return table;
}

/// "gfx906 gfx90a ...", or nothing where that cannot be found out. hipRTC 5 does not refuse a GPU
/// that it does not know: it ends the process.
inline std::vector<std::string> architectures() {
    struct Comgr {
        WS_COMGR_CALLS(WS_TABLE_MEMBER)
        explicit Comgr(const Library& library) { WS_COMGR_CALLS(WS_TABLE_BIND) }
    };
    std::vector<std::string> all;
    try {
        const Comgr comgr(Library("comgr", {"libamd_comgr.so.3", "libamd_comgr.so.2",
                                            "libamd_comgr.so", "/opt/rocm/lib/libamd_comgr.so"}));
        std::size_t count = 0;
        if (comgr.isa_count(&count) != 0) return all;
        for (std::size_t i = 0; i < count; ++i) {
            const char* name = nullptr;
            if (comgr.isa_name(i, &name) != 0 || !name) continue;
            const std::string text = name;  // "amdgcn-amd-amdhsa--gfx90a"
            all.push_back(text.substr(text.rfind('-') + 1));
        }
    } catch (const Error&) {
    }
    return all;
}

}  // namespace wirespeed::hiprtc
