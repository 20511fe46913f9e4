// A hipRTC whose code objects are those of fake_hip.cpp, which runs kernels on the CPU. With
// FAKE_HIPRTC_ABORTS it ends its process when it compiles, as version 5.2 does for GPUs that it
// does not know.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#define HIPRTC(name, arguments, ...) \
    extern "C" int name arguments { __VA_ARGS__ }

HIPRTC(hiprtcVersion, (int* major, int* minor), *major = 9; *minor = 0; return 0;)
HIPRTC(hiprtcCreateProgram,
       (void** program, const char*, const char*, int, const char* const*, const char* const*),
       *program = nullptr;
       return 0;)
HIPRTC(hiprtcCompileProgram, (void*, int, const char* const*),
       if (std::getenv("FAKE_HIPRTC_ABORTS")) std::abort();
       return 0;)
HIPRTC(hiprtcGetProgramLogSize, (void*, std::size_t* bytes), *bytes = 0; return 0;)
HIPRTC(hiprtcGetProgramLog, (void*, char*), return 0;)
HIPRTC(hiprtcGetCodeSize, (void*, std::size_t* bytes), *bytes = 4; return 0;)
HIPRTC(hiprtcGetCode, (void*, char* code), std::memcpy(code, "\177ELF", 4); return 0;)
HIPRTC(hiprtcDestroyProgram, (void**), return 0;)
extern "C" const char* hiprtcGetErrorString(int) { return "made to fail"; }
