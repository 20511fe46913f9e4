// The calls that CUDA and HIP have in common. fake_cuda.cpp and fake_hip.cpp define, before they
// include it, SAME(name), the vendor's name of such a call, and EITHER(cuda, hip), where the names
// differ more.
#pragma once

#include "fake_gpu.hpp"

// clang-format off
FAKE(SAME(DeviceGetByPCIBusId), (int* device, const char* text), return fake::by_pci(device, text);)
FAKE(SAME(DeviceGetPCIBusId), (char* text, int length, int device), return fake::pci(text, length, device);)
FAKE(EITHER(cuDeviceTotalMem_v2, hipDeviceTotalMem), (std::size_t* bytes, int), *bytes = fake::memory;
     return fake::success;)

FAKE(EITHER(cuMemGetInfo_v2, hipMemGetInfo), (std::size_t* free, std::size_t* total),
     *free = *total = fake::memory;
     return fake::success;)
FAKE(EITHER(cuMemAlloc_v2, hipMalloc), (void** address, std::size_t bytes),
     return fake::allocate(address, bytes, fake::Kind::device);)
FAKE(EITHER(cuMemAllocManaged, hipMallocManaged), (void** address, std::size_t bytes, unsigned flags),
     return flags == 1 ? fake::allocate(address, bytes, fake::Kind::managed) : fake::invalid_value;)
FAKE(SAME(MemAdvise), (void* address, std::size_t bytes, int advice, int device),
     return advice == 3 && device == -1 ? fake::advise(address, bytes) : fake::invalid_value;)
FAKE(EITHER(cuMemHostAlloc, hipHostMalloc), (void** address, std::size_t bytes, unsigned flags),
     return flags == 1 ? fake::allocate(address, bytes, fake::Kind::pinned) : fake::invalid_value;)
FAKE(EITHER(cuMemFree_v2, hipFree), (void* address), return fake::release(address);)
FAKE(EITHER(cuMemFreeHost, hipHostFree), (void* address), return fake::release(address);)
FAKE(EITHER(cuMemFreeAsync, hipFreeAsync), (void* address, void*), return fake::release(address);)
FAKE(EITHER(cuMemGetAddressRange_v2, hipMemGetAddressRange),
     (void** base, std::size_t* bytes, void* address),
     const auto* block = fake::block_of(address);
     if (!block) return fake::invalid_value;
     *base = reinterpret_cast<void*>(block->first);
     *bytes = block->second.bytes;
     return fake::success;)
FAKE(SAME(PointerGetAttribute), (void* value, int attribute, const void* address),
     return fake::pointer_attribute(value, attribute, address);)
FAKE(EITHER(cuMemHostRegister_v2, hipHostRegister), (void* address, std::size_t bytes, unsigned flags),
     return flags == 3 ? fake::host_register(address, bytes) : fake::invalid_value;)
FAKE(EITHER(cuMemHostUnregister, hipHostUnregister), (void* address),
     return fake::host_unregister(address);)
FAKE(EITHER(cuMemHostGetDevicePointer_v2, hipHostGetDevicePointer),
     (void** on_device, void* address, unsigned), *on_device = address;
     return fake::success;)

FAKE(SAME(StreamSynchronize), (void* stream), return fake::wait(stream);)
FAKE(SAME(StreamQuery), (void* stream), return fake::query(stream);)
FAKE(EITHER(cuStreamWriteValue32_v2, hipStreamWriteValue32),
     (void* stream, void* to, std::uint32_t value, unsigned),
     return fake::write_value(stream, to, value);)
FAKE(EITHER(cuStreamDestroy_v2, hipStreamDestroy), (void* stream),
     delete static_cast<fake::Stream*>(stream);
     return fake::success;)
FAKE(SAME(ModuleLoadData), (void** module, const void* image), return fake::load(module, image);)
FAKE(SAME(ModuleGetFunction), (void** function, void*, const char* name),
     return fake::function(function, name);)
FAKE(EITHER(cuLaunchKernel, hipModuleLaunchKernel),
     (void* function, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      void* stream, void** arguments, void**),
     return fake::launch(function, x, arguments, stream);)
FAKE(EITHER(cuLaunchCooperativeKernel, hipModuleLaunchCooperativeKernel),
     (void* function, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
      void* stream, void** arguments),
     return fake::launch_cooperative(function, x, arguments, stream);)

FAKE(EITHER(cuEventCreate, hipEventCreateWithFlags), (void** event, unsigned),
     *event = new fake::Event;
     return fake::success;)
FAKE(EITHER(cuEventDestroy_v2, hipEventDestroy), (void* event), delete static_cast<fake::Event*>(event);
     return fake::success;)
FAKE(SAME(EventRecord), (void* event, void* stream), return fake::record(event, stream);)
FAKE(SAME(EventQuery), (void* event), return fake::event_query(event);)
FAKE(SAME(EventSynchronize), (void* event), return fake::event_wait(event);)
FAKE(SAME(StreamWaitEvent), (void* stream, void* event, unsigned),
     return fake::stream_wait_event(stream, event);)
FAKE(SAME(EventElapsedTime), (float* milliseconds, void* earlier, void* later),
     return fake::elapsed(milliseconds, earlier, later);)
FAKE(SAME(LaunchHostFunc), (void* stream, void (*call)(void*), void* data),
     return fake::host_function(stream, call, data);)
FAKE(EITHER(cuStreamBeginCapture_v2, hipStreamBeginCapture), (void* stream, int mode),
     return fake::capture_begin(stream, mode);)
FAKE(SAME(StreamEndCapture), (void* stream, void** graph), return fake::capture_end(stream, graph);)
FAKE(SAME(GraphInstantiateWithFlags), (void** ready, void* graph, unsigned long long),
     return fake::instantiate(ready, graph);)
FAKE(SAME(GraphLaunch), (void* ready, void* stream), return fake::graph_launch(ready, stream);)
FAKE(SAME(GraphExecDestroy), (void* ready), return fake::graph_destroy(ready);)
FAKE(SAME(GraphDestroy), (void* graph), return fake::graph_destroy(graph);)
FAKE(SAME(IpcCloseMemHandle), (void* address), return fake::release(address);)
// clang-format on
