// libamdhip64.so over host memory. The arguments are those of the real functions. FAKE_HIP_ROCM5:
// as before ROCm 6, where hipIpcOpenMemHandle takes another flag. FAKE_HIP_CLOCK: what the driver
// says of the wall clock's rate, in kHz; "unknown": as before ROCm 5.4.
#include <cstdio>

#include "fake_pointers.hpp"

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
FAKE(hipDeviceGetByPCIBusId, (int* device, const char* text), return fake::by_pci(device, text);)
FAKE(hipDeviceGetPCIBusId, (char* text, int length, int device),
     return fake::pci(text, length, device);)
FAKE(hipDeviceGetName, (char* name, int length, int),
     std::snprintf(name, static_cast<std::size_t>(length), "%s",
                   fake::environment("FAKE_GPU_NAME", "Fake GPU").c_str());
     return fake::success;)
FAKE(hipDeviceGetUuid, (char* uuid, int device),
     char text[17];
     std::snprintf(text, sizeof text, "00112233445566%02x", device); std::memcpy(uuid, text, 16);
     return fake::success;)
FAKE(hipDeviceTotalMem, (std::size_t* bytes, int), *bytes = fake::memory; return fake::success;)
FAKE(hipGetDeviceProperties, (char* properties, int),
     std::strcpy(properties, "gfx, but only in the name");
     std::strcpy(properties + 1160, "gfx90a:sramecc+:xnack-"); return fake::success;)
// The runtime makes a device's context when it is first used, and keeps it.
FAKE(hipSetDevice, (int device), if (device >= fake::device_count()) return fake::invalid_device;
     fake::current = device;
     return fake::contexts.count(device) ? fake::success : fake::retain(device);)
FAKE(hipDeviceEnablePeerAccess, (int device, unsigned), return fake::enable_peer(device);)

FAKE(hipMemGetInfo, (std::size_t* free, std::size_t* total), *free = *total = fake::memory;
     return fake::success;)
FAKE(hipMalloc, (void** address, std::size_t bytes),
     return fake::allocate(address, bytes, fake::Kind::device);)
FAKE(hipMallocManaged, (void** address, std::size_t bytes, unsigned flags),
     return flags == 1 ? fake::allocate(address, bytes, fake::Kind::managed) : fake::invalid_value;)
FAKE(hipMemAdvise, (void* address, std::size_t bytes, int advice, int device),
     return advice == 3 && device == -1 ? fake::advise(address, bytes) : fake::invalid_value;)
FAKE(hipHostMalloc, (void** address, std::size_t bytes, unsigned flags),
     return flags == 1 ? fake::allocate(address, bytes, fake::Kind::pinned) : fake::invalid_value;)
FAKE(hipMallocAsync, (void** address, std::size_t bytes, void*),
     return fake::allocate(address, bytes, fake::Kind::device);)
FAKE(hipFreeAsync, (void* address, void*), return fake::release(address);)
FAKE(hipPointerGetAttribute, (void* value, int attribute, const void* address),
     return fake::pointer_attribute(value, attribute, address);)
FAKE(hipFree, (void* address), return fake::release(address);)
FAKE(hipHostFree, (void* address), return fake::release(address);)
FAKE(hipMemGetAddressRange, (void** base, std::size_t* bytes, void* address),
     const auto* block = fake::block_of(address);
     if (!block) return fake::invalid_value;
     *base = reinterpret_cast<void*>(block->first);
     *bytes = block->second.bytes;
     return fake::success;)

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
FAKE(hipStreamSynchronize, (void* stream), return fake::wait(stream);)
FAKE(hipStreamQuery, (void* stream), return fake::query(stream);)
FAKE(hipStreamWriteValue32, (void* stream, void* to, std::uint32_t value, unsigned),
     return fake::write_value(stream, to, value);)
FAKE(hipStreamWaitValue32, (void* stream, void* from, std::uint32_t value, unsigned, std::uint32_t),
     return fake::wait_value(stream, from, value);)
FAKE(hipHostRegister, (void* address, std::size_t bytes, unsigned flags),
     return flags == 3 ? fake::host_register(address, bytes) : fake::invalid_value;)
FAKE(hipHostUnregister, (void* address), return fake::host_unregister(address);)
FAKE(hipHostGetDevicePointer, (void** on_device, void* address, unsigned), *on_device = address;
     return fake::success;)
FAKE(hipDeviceGetAttribute, (int* value, int which, int), return attribute(value, which);)
FAKE(hipStreamDestroy, (void* stream), delete static_cast<fake::Stream*>(stream);
     return fake::success;)
FAKE(hipModuleLoadData, (void** module, const void* image), return fake::load(module, image);)
FAKE(hipModuleGetFunction, (void** function, void*, const char* name),
     return fake::function(function, name);)
FAKE(hipModuleLaunchKernel,
     (void* function, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      void* stream, void** arguments, void**),
     return fake::launch(function, x, arguments, stream);)

FAKE(hipModuleLaunchCooperativeKernel,
     (void* function, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      void* stream, void** arguments),
     return fake::launch_cooperative(function, x, arguments, stream);)
FAKE(hipExtMallocWithFlags, (void** address, std::size_t bytes, unsigned flags),
     return flags == 1 ? fake::allocate(address, bytes, fake::Kind::device) : fake::invalid_value;)

FAKE(hipEventCreateWithFlags, (void** event, unsigned), *event = new fake::Event;
     return fake::success;)
FAKE(hipEventDestroy, (void* event), delete static_cast<fake::Event*>(event);
     return fake::success;)
FAKE(hipEventRecord, (void* event, void* stream), return fake::record(event, stream);)
FAKE(hipEventQuery, (void* event), return fake::event_query(event);)
FAKE(hipEventSynchronize, (void* event), return fake::event_wait(event);)
FAKE(hipStreamWaitEvent, (void* stream, void* event, unsigned),
     return fake::stream_wait_event(stream, event);)
FAKE(hipEventElapsedTime, (float* milliseconds, void* earlier, void* later),
     return fake::elapsed(milliseconds, earlier, later);)
FAKE(hipLaunchHostFunc, (void* stream, void (*call)(void*), void* data),
     return fake::host_function(stream, call, data);)
FAKE(hipStreamBeginCapture, (void* stream, int mode), return fake::capture_begin(stream, mode);)
FAKE(hipStreamEndCapture, (void* stream, void** graph), return fake::capture_end(stream, graph);)
FAKE(hipGraphInstantiateWithFlags, (void** ready, void* graph, unsigned long long),
     return fake::instantiate(ready, graph);)
FAKE(hipGraphLaunch, (void* ready, void* stream), return fake::graph_launch(ready, stream);)
FAKE(hipGraphExecDestroy, (void* ready), return fake::graph_destroy(ready);)
FAKE(hipGraphDestroy, (void* graph), return fake::graph_destroy(graph);)

struct Handle {
    char bytes[64];
};
FAKE(hipIpcGetMemHandle, (Handle* handle, void* address),
     return fake::share(handle->bytes, address);)
FAKE(hipIpcOpenMemHandle, (void** address, Handle handle, unsigned flags),
     return flags == (std::getenv("FAKE_HIP_ROCM5") ? 0u : 1u) ? fake::open(address, handle.bytes)
                                                                : fake::invalid_value;)
FAKE(hipIpcCloseMemHandle, (void* address), return fake::release(address);)

// clang-format on

extern "C" const char* hipGetErrorName(int code) {
    return code == fake::no_device ? "hipErrorNoDevice" : "hipErrorFake";
}
extern "C" const char* hipGetErrorString(int code) {
    return code == fake::no_device ? "no ROCm-capable device is detected" : "made to fail";
}
