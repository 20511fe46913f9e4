// The CUDA driver without its headers. Device addresses are void* here and CUdeviceptr there: the
// same bits in the same registers. tests/native holds every declaration against cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libraries/table.hpp"

// clang-format off
#define WS_CUDA_CALLS(CALL) \
    CALL(init, cuInit, Result(unsigned flags)) \
    CALL(error_name, cuGetErrorName, Result(Result, const char** text)) \
    CALL(error_string, cuGetErrorString, Result(Result, const char** text)) \
    CALL(driver_version, cuDriverGetVersion, Result(int* version)) \
    CALL(device_count, cuDeviceGetCount, Result(int* count)) \
    CALL(device_get, cuDeviceGet, Result(Device*, int ordinal)) \
    CALL(device_by_pci, cuDeviceGetByPCIBusId, Result(Device*, const char* address)) \
    CALL(device_name, cuDeviceGetName, Result(char* name, int length, Device)) \
    CALL(device_pci, cuDeviceGetPCIBusId, Result(char* address, int length, Device)) \
    CALL(device_memory, cuDeviceTotalMem_v2, Result(std::size_t* bytes, Device)) \
    CALL(device_attribute, cuDeviceGetAttribute, Result(int* value, int attribute, Device)) \
    CALL(context_retain, cuDevicePrimaryCtxRetain, Result(Context*, Device)) \
    CALL(context_release, cuDevicePrimaryCtxRelease_v2, Result(Device)) \
    CALL(context_set, cuCtxSetCurrent, Result(Context)) \
    CALL(context_current, cuCtxGetCurrent, Result(Context*)) \
    CALL(context_device, cuCtxGetDevice, Result(Device*)) \
    CALL(primary_state, cuDevicePrimaryCtxGetState, Result(Device, unsigned* flags, int* active)) \
    CALL(pointer_attribute, cuPointerGetAttribute, Result(void* value, int attribute, const void* address)) \
    CALL(enable_peer, cuCtxEnablePeerAccess, Result(Context peer, unsigned flags)) \
    CALL(memory_info, cuMemGetInfo_v2, Result(std::size_t* free, std::size_t* total)) \
    CALL(allocate_device, cuMemAlloc_v2, Result(void** address, std::size_t bytes)) \
    CALL(allocate_managed, cuMemAllocManaged, Result(void** address, std::size_t bytes, unsigned flags)) \
    CALL(free_device, cuMemFree_v2, Result(void* address)) \
    CALL(allocate_host, cuMemHostAlloc, Result(void** address, std::size_t bytes, unsigned flags)) \
    CALL(free_host, cuMemFreeHost, Result(void* address)) \
    CALL(address_range, cuMemGetAddressRange_v2, Result(void** base, std::size_t* bytes, void* address)) \
    CALL(copy, cuMemcpy, Result(void* to, const void* from, std::size_t bytes)) \
    CALL(copy_async, cuMemcpyAsync, Result(void* to, const void* from, std::size_t bytes, Stream)) \
    CALL(stream_create, cuStreamCreate, Result(Stream*, unsigned flags)) \
    CALL(stream_wait, cuStreamSynchronize, Result(Stream)) \
    CALL(stream_query, cuStreamQuery, Result(Stream)) \
    CALL(host_register, cuMemHostRegister_v2, Result(void* address, std::size_t bytes, unsigned flags)) \
    CALL(host_unregister, cuMemHostUnregister, Result(void* address)) \
    CALL(host_device_address, cuMemHostGetDevicePointer_v2, Result(void** on_device, void* address, unsigned flags)) \
    CALL(stream_destroy, cuStreamDestroy_v2, Result(Stream)) \
    CALL(module_load, cuModuleLoadData, Result(Module*, const void* image)) \
    CALL(module_function, cuModuleGetFunction, Result(Function*, Module, const char* name)) \
    CALL(launch, cuLaunchKernel, Result(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream, \
         void** arguments, void** extra)) \
    CALL(ipc_get, cuIpcGetMemHandle, Result(IpcHandle*, void* address)) \
    CALL(ipc_open, cuIpcOpenMemHandle_v2, Result(void** address, IpcHandle, unsigned flags)) \
    CALL(ipc_close, cuIpcCloseMemHandle, Result(void* address)) \
    CALL(event_create, cuEventCreate, Result(Event*, unsigned flags)) \
    CALL(event_destroy, cuEventDestroy_v2, Result(Event)) \
    CALL(event_record, cuEventRecord, Result(Event, Stream)) \
    CALL(event_query, cuEventQuery, Result(Event)) \
    CALL(event_wait, cuEventSynchronize, Result(Event)) \
    CALL(stream_wait_event, cuStreamWaitEvent, Result(Stream, Event, unsigned flags)) \
    CALL(event_elapsed, cuEventElapsedTime, Result(float* milliseconds, Event earlier, Event later))

// A driver has at least one of the UUID's two; the second is the newer and knows MIG slices. Batched
// copies need CUDA 13, the others 11.7 at most.
#define WS_CUDA_NEWER_CALLS(CALL) \
    CALL(launch_cooperative, cuLaunchCooperativeKernel, Result(Function, unsigned grid_x, unsigned grid_y, \
         unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream, \
         void** arguments)) \
    CALL(copy_batch, cuMemcpyBatchAsync_v2, Result(void** to, void** from, std::size_t* bytes, std::size_t count, \
         CopyAttributes*, std::size_t* attributes_from, std::size_t attributes_count, Stream)) \
    CALL(advise, cuMemAdvise, Result(void* address, std::size_t bytes, int advice, Device)) \
    CALL(device_uuid, cuDeviceGetUuid, Result(Uuid*, Device)) \
    CALL(device_uuid_v2, cuDeviceGetUuid_v2, Result(Uuid*, Device)) \
    CALL(write_value, cuStreamWriteValue32_v2, Result(Stream, void* to, std::uint32_t value, unsigned flags)) \
    CALL(wait_value, cuStreamWaitValue32_v2, Result(Stream, void* from, std::uint32_t value, unsigned flags)) \
    CALL(capture_begin, cuStreamBeginCapture_v2, Result(Stream, int mode)) \
    CALL(capture_end, cuStreamEndCapture, Result(Stream, Graph*)) \
    CALL(graph_destroy, cuGraphDestroy, Result(Graph)) \
    CALL(graph_instantiate, cuGraphInstantiateWithFlags, Result(ReadyGraph*, Graph, unsigned long long flags)) \
    CALL(graph_upload, cuGraphUpload, Result(ReadyGraph, Stream)) \
    CALL(graph_launch, cuGraphLaunch, Result(ReadyGraph, Stream)) \
    CALL(graph_ready_destroy, cuGraphExecDestroy, Result(ReadyGraph)) \
    CALL(pool_allocate, cuMemAllocAsync, Result(void** address, std::size_t bytes, Stream)) \
    CALL(pool_free, cuMemFreeAsync, Result(void* address, Stream)) \
    CALL(map_granularity, cuMemGetAllocationGranularity, Result(std::size_t* bytes, const MapProperties*, int which)) \
    CALL(map_create, cuMemCreate, Result(MapHandle*, std::size_t bytes, const MapProperties*, unsigned long long flags)) \
    CALL(map_destroy, cuMemRelease, Result(MapHandle)) \
    CALL(map_reserve, cuMemAddressReserve, Result(void** address, std::size_t bytes, std::size_t alignment, \
         void* wanted, unsigned long long flags)) \
    CALL(map_unreserve, cuMemAddressFree, Result(void* address, std::size_t bytes)) \
    CALL(map, cuMemMap, Result(void* address, std::size_t bytes, std::size_t offset, MapHandle, unsigned long long flags)) \
    CALL(unmap, cuMemUnmap, Result(void* address, std::size_t bytes)) \
    CALL(map_access, cuMemSetAccess, Result(void* address, std::size_t bytes, const MapAccess*, std::size_t count))
// clang-format on

namespace wirespeed {

struct Cuda {
    static constexpr const char* name = "cuda";

    using Result = int;
    using Device = int;
    using Context = void*;
    using Stream = void*;
    using Module = void*;
    using Function = void*;
    using Event = void*;
    using Graph = void*;
    using ReadyGraph = void*;  ///< instantiated, in CUDA's words
    struct Uuid {
        unsigned char bytes[16];
    };
    struct IpcHandle {
        char bytes[64];
    };

    using MapHandle = unsigned long long;
    struct MapLocation {
        int type = 1;  ///< a device
        int device = 0;
    };
    struct CopyAttributes {
        int source_order = 1;  ///< sources are read in the stream's order
        int from_type = 0, from_id = 0, to_type = 0, to_id = 0;  ///< no hints
        unsigned flags = 0;
    };
    struct MapProperties {
        int type = 1;          ///< pinned
        int handle_types = 0;  ///< none that another process could open
        MapLocation location;
        void* reserved = nullptr;
        unsigned char flags[8] = {};
    };
    struct MapAccess {
        MapLocation location;
        int flags = 3;  ///< read and write
    };

    static constexpr Result success = 0;
    static constexpr Result not_ready = 600;
    static constexpr int pointer_context = 1;
    static constexpr int pointer_memory = 2;
    static constexpr int pointer_managed = 8;
    static constexpr int pointer_device = 9;
    static constexpr int pointer_ipc = 10;
    static constexpr int pointer_rdma = 15;
    static constexpr int memory_device = 2;
    static constexpr Result peer_access_already_enabled = 704;
    static constexpr int attribute_major = 75;  ///< of the compute capability
    static constexpr int attribute_minor = 76;
    static constexpr int attribute_multiprocessors = 16;
    static constexpr unsigned register_portable_mapped = 3;
    static constexpr unsigned host_portable = 1;        ///< pinned for every context
    static constexpr unsigned attach_global = 1;        ///< managed memory for every stream
    static constexpr int advise_home = 3;               ///< set the preferred location
    static constexpr int the_cpu = -1;                  ///< as a device
    static constexpr unsigned stream_non_blocking = 1;  ///< does not wait for the default stream
    static constexpr unsigned ipc_lazy_peer_access = 1;
    static constexpr unsigned event_default = 0;  ///< with time stamps
    static constexpr unsigned event_untimed = 2;
    static constexpr int capture_relaxed = 2;           ///< other calls are not policed meanwhile
    static constexpr double event_resolution = 0.5e-6;  ///< seconds, by the vendor's documentation

    struct Calls {
        WS_CUDA_CALLS(WS_TABLE_MEMBER)
        WS_CUDA_NEWER_CALLS(WS_TABLE_MEMBER)

        explicit Calls(const Library& library) {
            WS_CUDA_CALLS(WS_TABLE_BIND)
            WS_CUDA_NEWER_CALLS(WS_TABLE_BIND_IF_THERE)
        }
    };
    struct Names {
        WS_CUDA_CALLS(WS_TABLE_NAME)
        WS_CUDA_NEWER_CALLS(WS_TABLE_NAME)
    };

    static int memory_on_device(const Calls&) { return memory_device; }

    /// The driver's own words: "out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
    static std::string text(const Calls& calls, Result code) {
        const char *name = nullptr, *words = nullptr;
        calls.error_name(code, &name);
        calls.error_string(code, &words);
        const std::string text = name ? name : "error " + std::to_string(code);
        return words ? words + (" (" + text + ")") : text;
    }
};

}  // namespace wirespeed
