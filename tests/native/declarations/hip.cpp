// Compiled, not linked: fails to compile where libraries/hip.hpp and hiprtc.hpp differ from AMD's
// headers.
#define __HIP_DISABLE_CPP_FUNCTIONS__  // C++ overloads, which the library does not have
#include <amd_comgr.h>
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#include <hip/hiprtc.h>

#include "abi.hpp"
#include "libraries/hip.hpp"
#include "libraries/hiprtc.hpp"

#if HIP_VERSION < 50500000
// As newer headers declare it.
extern "C" hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                                       unsigned, unsigned, unsigned, unsigned,
                                                       hipStream_t, void**);
#endif

#if HIP_VERSION < 70100000
extern "C" hipError_t hipMemcpyBatchAsync(void**, void**, std::size_t*, std::size_t, void*,
                                          std::size_t*, std::size_t, std::size_t*, hipStream_t);
#endif

// Of a name with overloads, the C function is the one that must be there.
extern "C" hipError_t malloc_async(void**, std::size_t, hipStream_t);
[[maybe_unused]] constexpr decltype(&malloc_async) held = &hipMallocAsync;
#define hipMallocAsync malloc_async

using wirespeed::Hip;
using wirespeed::RuntimeCompiler;

#define HOLD_HIP(member, symbol, ...) HOLD(decltype(Hip::Calls::member), symbol)
WS_HIP_CALLS(HOLD_HIP)
WS_HIP_NEWER_CALLS(HOLD_HIP)

#define HOLD_HIPRTC(member, symbol) HOLD(decltype(RuntimeCompiler::member), symbol)
WS_HIPRTC_CALLS(HOLD_HIPRTC)
#define HOLD_COMGR(member, symbol, ...) HOLD(std::add_pointer_t<__VA_ARGS__>, symbol)
WS_COMGR_CALLS(HOLD_COMGR)

static_assert(Hip::success == hipSuccess);
static_assert(Hip::invalid_value == hipErrorInvalidValue);
static_assert(Hip::peer_access_already_enabled == hipErrorPeerAccessAlreadyEnabled);
static_assert(Hip::copy_any == hipMemcpyDefault);
static_assert(Hip::pointer_memory == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(Hip::pointer_managed == HIP_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(Hip::pointer_device == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(Hip::pointer_ipc == HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE);
static_assert(hipMemoryTypeDevice == (HIP_VERSION >= 60000000 ? 2 : 1));
static_assert(Hip::not_ready == hipErrorNotReady);
static_assert(Hip::attribute_multiprocessors == hipDeviceAttributeMultiprocessorCount);
#if HIP_VERSION >= 50300000
static_assert(Hip::attribute_wall_clock == hipDeviceAttributeWallClockRate);
#else  // A number that this version does not know.
static_assert(Hip::attribute_wall_clock == hipDeviceAttributeFineGrainSupport + 1);
#endif
static_assert(Hip::register_portable_mapped == (hipHostRegisterPortable | hipHostRegisterMapped));
static_assert(hipStreamWaitValueGte == 0);
static_assert(Hip::fine_grained == hipDeviceMallocFinegrained);
static_assert(Hip::host_portable == hipHostMallocPortable);
static_assert(Hip::attach_global == hipMemAttachGlobal);
static_assert(Hip::advise_home == hipMemAdviseSetPreferredLocation);
static_assert(Hip::the_cpu == hipCpuDeviceId);
static_assert(Hip::stream_non_blocking == hipStreamNonBlocking);
static_assert((HIP_VERSION_MAJOR < 6 ? Hip::ipc_lazy_peer_access_rocm5
                                     : Hip::ipc_lazy_peer_access) == hipIpcMemLazyEnablePeerAccess);
static_assert(Hip::event_default == hipEventDefault);
static_assert(Hip::capture_relaxed == hipStreamCaptureModeRelaxed);
static_assert(sizeof(Hip::Uuid) == sizeof(hipUUID));
static_assert(sizeof(Hip::IpcHandle) == sizeof(hipIpcMemHandle_t));
static_assert(sizeof(Hip::Properties) >= 4 * sizeof(hipDeviceProp_t));
static_assert(offsetof(hipDeviceProp_t, gcnArchName) >= 256);
static_assert(RuntimeCompiler::success == HIPRTC_SUCCESS);
static_assert(Hip::event_untimed == hipEventDisableTiming);
