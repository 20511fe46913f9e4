// Compiled, not linked: fails to compile where libraries/nvtx.hpp differs from NVIDIA's headers.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "libraries/nvtx.hpp"

namespace nvtx = wirespeed::nvtx;

static_assert(std::is_same_v<nvtx::RangePush*, nvtxRangePushA_impl_fntype>);
static_assert(std::is_same_v<nvtx::RangePop*, nvtxRangePop_impl_fntype>);
static_assert(std::is_same_v<nvtx::NameThread*, nvtxNameOsThreadA_impl_fntype>);
static_assert(std::is_same_v<nvtx::ExportTable*, NvtxGetExportTableFunc_t>);
static_assert(std::is_same_v<nvtx::Initialize*, NvtxInitializeInjectionNvtxFunc_t>);
static_assert(std::is_same_v<nvtx::Function**, NvtxFunctionTable>);

static_assert(nvtx::callbacks_table == NVTX_ETID_CALLBACKS);
static_assert(nvtx::version_table == NVTX_ETID_VERSIONINFO);
static_assert(nvtx::core == NVTX_CB_MODULE_CORE);
static_assert(std::size(nvtx::functions) <= NVTX_CB_MODULE_SIZE);
static_assert(nvtx::functions[NVTX_CB_MODULE_CORE] == NVTX_CBID_CORE_SIZE);
static_assert(nvtx::functions[NVTX_CB_MODULE_CUDA] == NVTX_CBID_CUDA_SIZE);
static_assert(nvtx::functions[NVTX_CB_MODULE_OPENCL] == NVTX_CBID_OPENCL_SIZE);
static_assert(nvtx::functions[NVTX_CB_MODULE_CUDART] == NVTX_CBID_CUDART_SIZE);
static_assert(nvtx::functions[NVTX_CB_MODULE_CORE2] == NVTX_CBID_CORE2_SIZE);
static_assert(nvtx::functions[NVTX_CB_MODULE_SYNC] == NVTX_CBID_SYNC_SIZE);
static_assert(nvtx::range_push == NVTX_CBID_CORE_RangePushA);
static_assert(nvtx::range_pop == NVTX_CBID_CORE_RangePop);
static_assert(nvtx::name_thread == NVTX_CBID_CORE_NameOsThreadA);

static_assert(sizeof(nvtx::Callbacks) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(nvtx::Callbacks, module_functions) ==
              offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
static_assert(sizeof(nvtx::Version) == sizeof(NvtxExportTableVersionInfo));
static_assert(offsetof(nvtx::Version, set_profiler_version) ==
              offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
