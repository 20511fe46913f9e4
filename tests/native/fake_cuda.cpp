// libcuda.so.1 over host memory. The arguments are those of the real functions.
#include <cstdio>

#define SAME(name) cu##name
#define EITHER(cuda, hip) cuda
#include "fake_calls.hpp"
#include "fake_cuda_memory.hpp"

namespace {

/// With FAKE_GPU_SLICES the machine has one GPU in MIG mode: a process sees the first slice that
/// CUDA_VISIBLE_DEVICES names, by the last two digits of its UUID. 0: the GPUs are whole; -1: no
/// such slice.
int slice() {
    if (!std::getenv("FAKE_GPU_SLICES")) return 0;
    const std::string first = fake::environment("CUDA_VISIBLE_DEVICES", "");
    const std::string name = first.substr(0, first.find(','));
    if (name.rfind("MIG-", 0) != 0 || name.size() != 40) return -1;
    return static_cast<int>(std::strtol(name.c_str() + 38, nullptr, 16));
}
int device_count() { return slice() == 0 ? fake::device_count() : slice() > 0; }
std::string device_name() {
    return fake::environment("FAKE_GPU_NAME", slice() ? "NVIDIA H200 MIG 1g.18gb" : "Fake GPU");
}

}  // namespace

// clang-format off
FAKE(cuInit, (unsigned), return fake::success;)
FAKE(cuDriverGetVersion, (int* version), *version = 13000; return fake::success;)
FAKE(cuDeviceGetCount, (int* count), *count = device_count(); return fake::success;)
FAKE(cuDeviceGet, (int* device, int ordinal), *device = ordinal;
     return ordinal < device_count() ? fake::success : fake::invalid_device;)
FAKE(cuDeviceGetName, (char* name, int length, int),
     std::snprintf(name, static_cast<std::size_t>(length), "%s", device_name().c_str());
     return fake::success;)
FAKE(cuDeviceGetUuid_v2, (unsigned char* uuid, int device),
     for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * device + i);
     if (slice()) uuid[15] = static_cast<unsigned char>(slice());
     return fake::success;)
FAKE(cuDeviceGetAttribute, (int* value, int attribute, int), *value = attribute == 75 ? 9 : attribute == 16 ? 4 : attribute == 10 ? 32 : 0;
     return fake::success;)
FAKE(cuDevicePrimaryCtxRetain, (void** context, int device),
     *context = fake::context_of(device + 1);
     return fake::retain(device);)
FAKE(cuDevicePrimaryCtxRelease_v2, (int device), return fake::release(device);)
FAKE(cuCtxEnablePeerAccess, (void* context, unsigned),
     return fake::enable_peer(fake::device_of(fake::number_of(context)));)

FAKE(cuMemcpy, (void* to, const void* from, std::size_t bytes), return fake::copy(to, from, bytes);)
FAKE(cuMemcpyAsync, (void* to, const void* from, std::size_t bytes, void* stream),
     return fake::copy_async(to, from, bytes, stream);)
FAKE(cuMemcpyBatchAsync_v2, (void** to, void** from, std::size_t* bytes, std::size_t count,
                             const int* attributes, const std::size_t* attributes_from,
                             std::size_t attributes_count, void* stream),
     if (attributes_count != 1 || *attributes != 1 || *attributes_from) return fake::invalid_value;
     return fake::copy_batch(to, from, bytes, count, stream);)
FAKE(cuStreamCreate, (void** stream, unsigned flags), *stream = new fake::Stream;
     return flags <= 1 ? fake::success : fake::invalid_value;)
FAKE(cuStreamWaitValue32_v2, (void* stream, void* from, std::uint32_t value, unsigned),
     return fake::wait_value(stream, from, value);)

FAKE(cuGraphUpload, (void*, void*), return fake::success;)

struct Handle {
    char bytes[64];
};
FAKE(cuIpcGetMemHandle, (Handle* handle, void* address),
     handle->bytes[63] = static_cast<char>(slice());
     return fake::share(handle->bytes, address);)
FAKE(cuIpcOpenMemHandle_v2, (void** address, Handle handle, unsigned flags),
     if (handle.bytes[63] != slice()) return fake::peer_unsupported;
     return flags == 1 ? fake::open(address, handle.bytes) : fake::invalid_value;)

// clang-format on

extern "C" int cuGetErrorName(int code, const char** text) {
    *text = code == fake::no_device ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_FAKE";
    return fake::success;
}
extern "C" int cuGetErrorString(int code, const char** text) {
    *text = code == fake::no_device ? "no CUDA-capable device is detected" : "made to fail";
    return fake::success;
}
