// The HIP runtime without its headers. tests/native holds every declaration against
// hip/hip_runtime_api.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libraries/table.hpp"

// clang-format off
#define WS_HIP_CALLS(CALL) \
    CALL(error_name, hipGetErrorName, const char*(Result)) \
    CALL(error_string, hipGetErrorString, const char*(Result)) \
    CALL(driver_version, hipDriverGetVersion, Result(int* version)) \
    CALL(device_count, hipGetDeviceCount, Result(int* count)) \
    CALL(device_by_pci, hipDeviceGetByPCIBusId, Result(Device*, const char* address)) \
    CALL(device_name, hipDeviceGetName, Result(char* name, int length, Device)) \
    CALL(device_pci, hipDeviceGetPCIBusId, Result(char* address, int length, Device)) \
    CALL(device_memory, hipDeviceTotalMem, Result(std::size_t* bytes, Device)) \
    CALL(device_properties, hipGetDeviceProperties, Result(Properties*, Device)) \
    CALL(device_set, hipSetDevice, Result(Device)) \
    CALL(enable_peer, hipDeviceEnablePeerAccess, Result(Device peer, unsigned flags)) \
    CALL(memory_info, hipMemGetInfo, Result(std::size_t* free, std::size_t* total)) \
    CALL(allocate_device, hipMalloc, Result(void** address, std::size_t bytes)) \
    CALL(allocate_managed, hipMallocManaged, Result(void** address, std::size_t bytes, unsigned flags)) \
    CALL(free_device, hipFree, Result(void* address)) \
    CALL(allocate_host, hipHostMalloc, Result(void** address, std::size_t bytes, unsigned flags)) \
    CALL(free_host, hipHostFree, Result(void* address)) \
    CALL(address_range, hipMemGetAddressRange, Result(void** base, std::size_t* bytes, void* address)) \
    CALL(copy, hipMemcpy, Result(void* to, const void* from, std::size_t bytes, int kind)) \
    CALL(copy_async, hipMemcpyAsync, Result(void* to, const void* from, std::size_t bytes, int kind, Stream)) \
    CALL(stream_create, hipStreamCreateWithFlags, Result(Stream*, unsigned flags)) \
    CALL(stream_wait, hipStreamSynchronize, Result(Stream)) \
    CALL(stream_query, hipStreamQuery, Result(Stream)) \
    CALL(device_attribute, hipDeviceGetAttribute, Result(int* value, int attribute, Device)) \
    CALL(host_register, hipHostRegister, Result(void* address, std::size_t bytes, unsigned flags)) \
    CALL(host_unregister, hipHostUnregister, Result(void* address)) \
    CALL(host_device_address, hipHostGetDevicePointer, Result(void** on_device, void* address, unsigned flags)) \
    CALL(stream_destroy, hipStreamDestroy, Result(Stream)) \
    CALL(module_load, hipModuleLoadData, Result(Module*, const void* image)) \
    CALL(module_function, hipModuleGetFunction, Result(Function*, Module, const char* name)) \
    CALL(launch, hipModuleLaunchKernel, Result(Function, unsigned grid_x, unsigned grid_y, \
         unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, \
         unsigned shared_bytes, Stream, void** arguments, void** extra)) \
    CALL(ipc_get, hipIpcGetMemHandle, Result(IpcHandle*, void* address)) \
    CALL(ipc_open, hipIpcOpenMemHandle, Result(void** address, IpcHandle, unsigned flags)) \
    CALL(ipc_close, hipIpcCloseMemHandle, Result(void* address)) \
    CALL(event_create, hipEventCreateWithFlags, Result(Event*, unsigned flags)) \
    CALL(event_destroy, hipEventDestroy, Result(Event)) \
    CALL(event_record, hipEventRecord, Result(Event, Stream)) \
    CALL(event_query, hipEventQuery, Result(Event)) \
    CALL(event_wait, hipEventSynchronize, Result(Event)) \
    CALL(stream_wait_event, hipStreamWaitEvent, Result(Stream, Event, unsigned flags)) \
    CALL(event_elapsed, hipEventElapsedTime, Result(float* milliseconds, Event earlier, Event later))

#define WS_HIP_NEWER_CALLS(CALL) \
    CALL(allocate_fine_grained, hipExtMallocWithFlags, Result(void** address, std::size_t bytes, unsigned flags)) \
    CALL(launch_cooperative, hipModuleLaunchCooperativeKernel, Result(Function, unsigned grid_x, unsigned grid_y, \
         unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream, \
         void** arguments)) \
    CALL(copy_batch, hipMemcpyBatchAsync, Result(void** to, void** from, std::size_t* bytes, std::size_t count, \
         void* attributes, std::size_t* attributes_from, std::size_t attributes_count, std::size_t* failed, \
         Stream)) \
    CALL(advise, hipMemAdvise, Result(const void* address, std::size_t bytes, int advice, Device)) \
    CALL(device_uuid, hipDeviceGetUuid, Result(Uuid*, Device)) \
    CALL(write_value, hipStreamWriteValue32, Result(Stream, void* to, std::uint32_t value, unsigned flags)) \
    CALL(wait_value, hipStreamWaitValue32, Result(Stream, void* from, std::uint32_t value, unsigned flags, \
         std::uint32_t mask)) \
    CALL(capture_begin, hipStreamBeginCapture, Result(Stream, int mode)) \
    CALL(capture_end, hipStreamEndCapture, Result(Stream, Graph*)) \
    CALL(graph_destroy, hipGraphDestroy, Result(Graph)) \
    CALL(graph_instantiate, hipGraphInstantiateWithFlags, Result(ReadyGraph*, Graph, unsigned long long flags)) \
    CALL(graph_launch, hipGraphLaunch, Result(ReadyGraph, Stream)) \
    CALL(graph_ready_destroy, hipGraphExecDestroy, Result(ReadyGraph)) \
    CALL(pointer_attribute, hipPointerGetAttribute, Result(void* value, int attribute, const void* address)) \
    CALL(pool_allocate, hipMallocAsync, Result(void** address, std::size_t bytes, Stream)) \
    CALL(pool_free, hipFreeAsync, Result(void* address, Stream))
// clang-format on

namespace wirespeed {

struct Hip {
    static constexpr const char* name = "hip";

    using Result = int;
    using Device = int;
    using Stream = void*;
    using Module = void*;
    using Function = void*;
    using Event = void*;
    using Graph = void*;
    using ReadyGraph = void*;  ///< instantiated, in HIP's words
    struct Uuid {
        char bytes[16];
    };
    struct IpcHandle {
        char bytes[64];
    };
    /// hipDeviceProp_t grows and its members move between versions of ROCm: room for all of them.
    struct alignas(16) Properties {
        char bytes[16384];
    };

    static constexpr Result success = 0;
    static constexpr Result invalid_value = 1;
    static constexpr Result not_ready = 600;
    static constexpr int pointer_memory = 2;
    static constexpr int pointer_managed = 8;
    static constexpr int pointer_device = 9;
    static constexpr int pointer_ipc = 10;
    static constexpr Result not_supported = 801;
    static constexpr Result peer_access_already_enabled = 704;
    static constexpr int copy_any = 4;  ///< the runtime finds out which memory is where
    static constexpr int attribute_multiprocessors = 63;
    static constexpr unsigned fine_grained = 1;  ///< coherent with other processors at any time
    static constexpr int attribute_wall_clock = 10017;  ///< kHz; refused as unknown before ROCm 5.4
    static constexpr unsigned register_portable_mapped = 3;
    static constexpr unsigned host_portable = 1;        ///< pinned for every device
    static constexpr unsigned attach_global = 1;        ///< managed memory for every stream
    static constexpr int advise_home = 3;               ///< set the preferred location
    static constexpr int the_cpu = -1;                  ///< as a device
    static constexpr unsigned stream_non_blocking = 1;  ///< does not wait for the default stream
    static constexpr unsigned event_default = 0;        ///< with time stamps
    static constexpr unsigned event_untimed = 2;
    static constexpr int capture_relaxed = 2;         ///< other calls are not policed meanwhile
    static constexpr double event_resolution = 1e-6;  ///< seconds, by the vendor's documentation
    // ROCm 6 changed the only value that hipIpcOpenMemHandle takes.
    static constexpr unsigned ipc_lazy_peer_access = 1, ipc_lazy_peer_access_rocm5 = 0;

    struct Calls {
        WS_HIP_CALLS(WS_TABLE_MEMBER)
        WS_HIP_NEWER_CALLS(WS_TABLE_MEMBER)

        explicit Calls(const Library& library) {
            WS_HIP_CALLS(WS_TABLE_BIND)
            WS_HIP_NEWER_CALLS(WS_TABLE_BIND_IF_THERE)
        }
    };
    struct Names {
        WS_HIP_CALLS(WS_TABLE_NAME)
        WS_HIP_NEWER_CALLS(WS_TABLE_NAME)
    };

    /// What hipPointerGetAttribute calls memory of a device: ROCm 6 counted its names anew.
    static int memory_on_device(const Calls& calls) {
        int version = 0;
        calls.driver_version(&version);
        return version >= 60000000 ? 2 : 1;
    }

    /// The runtime's own words: "out of memory (hipErrorOutOfMemory)".
    static std::string text(const Calls& calls, Result code) {
        const char* const name = calls.error_name(code);
        const char* const words = calls.error_string(code);
        const std::string text = name ? name : "error " + std::to_string(code);
        // ROCm 5 has only the name to say.
        return words && text != words ? words + (" (" + text + ")") : text;
    }
};

}  // namespace wirespeed
