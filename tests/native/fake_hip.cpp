// libamdhip64.so over host memory. The arguments are those of the real functions. FAKE_HIP_ROCM5:
// as before ROCm 6, where hipIpcOpenMemHandle takes another flag. FAKE_HIP_CLOCK: what the driver
// says of the wall clock's rate, in kHz; "unknown": as before ROCm 5.4.
#include <cstdio>

#define SAME(name) hip##name
#define EITHER(cuda, hip) hip
#include "fake_calls.hpp"

namespace {

int attribute(int* value, int which) {
    // Kernels run on the CPU, whose clock counts nanoseconds.
    const std::string clock = fake::environment("FAKE_HIP_CLOCK", "1000000");
    if (which == 63)
        *value = 4;
    else if (which == 10017 && clock != "unknown")
        *value = std::atoi(clock.c_str());
    else
        return fake::invalid_value;
    return fake::success;
}

}  // namespace

// clang-format off
FAKE(hipDriverGetVersion, (int* version), *version = 60342134; return fake::success;)
FAKE(hipGetDeviceCount, (int* count), *count = fake::device_count(); return fake::success;)
FAKE(hipDeviceGetName, (char* name, int length, int),
     std::snprintf(name, static_cast<std::size_t>(length), "%s",
                   fake::environment("FAKE_GPU_NAME", "Fake GPU").c_str());
     return fake::success;)
FAKE(hipDeviceGetUuid, (char* uuid, int device),
     char text[17];
     std::snprintf(text, sizeof text, "00112233445566%02x", device); std::memcpy(uuid, text, 16);
     return fake::success;)
FAKE(hipGetDeviceProperties, (char* properties, int),
     std::strcpy(properties, "gfx, but only in the name");
     std::strcpy(properties + 1160, "gfx90a:sramecc+:xnack-"); return fake::success;)
// The runtime makes a device's context when it is first used, and keeps it.
FAKE(hipSetDevice, (int device), if (device >= fake::device_count()) return fake::invalid_device;
     fake::current = device;
     return fake::contexts.count(device) ? fake::success : fake::retain(device);)
FAKE(hipDeviceEnablePeerAccess, (int device, unsigned), return fake::enable_peer(device);)

FAKE(hipMallocAsync, (void** address, std::size_t bytes, void*),
     return fake::allocate(address, bytes, fake::Kind::device);)

FAKE(hipMemcpy, (void* to, const void* from, std::size_t bytes, int kind),
     return kind == 4 ? fake::copy(to, from, bytes) : fake::invalid_value;)
FAKE(hipMemcpyAsync, (void* to, const void* from, std::size_t bytes, int kind, void* stream),
     return kind == 4 ? fake::copy_async(to, from, bytes, stream) : fake::invalid_value;)
FAKE(hipMemcpyBatchAsync, (void** to, void** from, std::size_t* bytes, std::size_t count, void*,
                           std::size_t*, std::size_t attributes, std::size_t*, void* stream),
     if (attributes) return fake::not_supported;
     if (count > 8192) std::abort();
     return fake::copy_batch(to, from, bytes, count, stream);)
FAKE(hipStreamCreateWithFlags, (void** stream, unsigned flags), *stream = new fake::Stream;
     return flags == 1 ? fake::success : fake::invalid_value;)
FAKE(hipStreamWaitValue32, (void* stream, void* from, std::uint32_t value, unsigned, std::uint32_t),
     return fake::wait_value(stream, from, value);)
FAKE(hipDeviceGetAttribute, (int* value, int which, int), return attribute(value, which);)

FAKE(hipExtMallocWithFlags, (void** address, std::size_t bytes, unsigned flags),
     return flags == 1 ? fake::allocate(address, bytes, fake::Kind::device) : fake::invalid_value;)

struct Handle {
    char bytes[64];
};
FAKE(hipIpcGetMemHandle, (Handle* handle, void* address),
     return fake::share(handle->bytes, address);)
FAKE(hipIpcOpenMemHandle, (void** address, Handle handle, unsigned flags),
     return flags == (std::getenv("FAKE_HIP_ROCM5") ? 0u : 1u) ? fake::open(address, handle.bytes)
                                                                : fake::invalid_value;)

// clang-format on

extern "C" const char* hipGetErrorName(int code) {
    return code == fake::no_device ? "hipErrorNoDevice" : "hipErrorFake";
}
extern "C" const char* hipGetErrorString(int code) {
    return code == fake::no_device ? "no ROCm-capable device is detected" : "made to fail";
}
