// Compiled, not linked: fails to compile where libraries/cuda_driver.hpp and nvrtc.hpp differ from
// NVIDIA's headers.
#include <cuda.h>
#include <nvrtc.h>

#include "abi.hpp"
#include "libraries/cuda_driver.hpp"
#include "libraries/nvrtc.hpp"

// The driver keeps the older form of this call, which newer headers hide behind the newer one.
#ifdef cuMemAdvise
#undef cuMemAdvise
extern "C" CUresult CUDAAPI cuMemAdvise(CUdeviceptr, std::size_t, CUmem_advise, CUdevice);
#endif

using wirespeed::Cuda;
using wirespeed::RuntimeCompiler;

#define HOLD_CUDA(member, symbol, ...) HOLD(decltype(Cuda::Calls::member), symbol)
WS_CUDA_CALLS(HOLD_CUDA)
WS_CUDA_NEWER_CALLS(HOLD_CUDA)

#define HOLD_NVRTC(member, symbol) HOLD(decltype(RuntimeCompiler::member), symbol)
WS_NVRTC_CALLS(HOLD_NVRTC)
WS_NVRTC_NEWER_CALLS(HOLD_NVRTC)

static_assert(Cuda::success == CUDA_SUCCESS);
static_assert(Cuda::peer_access_already_enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(Cuda::pointer_context == CU_POINTER_ATTRIBUTE_CONTEXT);
static_assert(Cuda::pointer_memory == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(Cuda::pointer_managed == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(Cuda::pointer_device == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(Cuda::pointer_ipc == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
static_assert(Cuda::pointer_rdma == CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE);
static_assert(Cuda::memory_device == CU_MEMORYTYPE_DEVICE);
static_assert(sizeof(Cuda::MapProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(Cuda::MapProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(Cuda::MapProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(Cuda::MapLocation{}.type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(sizeof(Cuda::CopyAttributes) == sizeof(CUmemcpyAttributes));
static_assert(offsetof(Cuda::CopyAttributes, from_type) ==
              offsetof(CUmemcpyAttributes, srcLocHint));
static_assert(offsetof(Cuda::CopyAttributes, flags) == offsetof(CUmemcpyAttributes, flags));
static_assert(Cuda::CopyAttributes{}.source_order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
static_assert(sizeof(Cuda::MapAccess) == sizeof(CUmemAccessDesc));
static_assert(Cuda::MapAccess{}.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(CU_MEM_ALLOC_GRANULARITY_MINIMUM == 0);
static_assert(Cuda::attribute_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(Cuda::attribute_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(Cuda::not_ready == CUDA_ERROR_NOT_READY);
static_assert(Cuda::attribute_multiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(Cuda::register_portable_mapped ==
              (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
static_assert(CU_STREAM_WAIT_VALUE_GEQ == 0 && CU_STREAM_WRITE_VALUE_DEFAULT == 0);
static_assert(Cuda::host_portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(Cuda::attach_global == CU_MEM_ATTACH_GLOBAL);
static_assert(Cuda::advise_home == CU_MEM_ADVISE_SET_PREFERRED_LOCATION);
static_assert(Cuda::the_cpu == CU_DEVICE_CPU);
static_assert(Cuda::stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(Cuda::ipc_lazy_peer_access == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
static_assert(Cuda::event_default == CU_EVENT_DEFAULT);
static_assert(Cuda::capture_relaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(sizeof(Cuda::Uuid) == sizeof(CUuuid));
static_assert(sizeof(Cuda::IpcHandle) == sizeof(CUipcMemHandle));
static_assert(RuntimeCompiler::success == NVRTC_SUCCESS);
static_assert(Cuda::event_untimed == CU_EVENT_DISABLE_TIMING);
