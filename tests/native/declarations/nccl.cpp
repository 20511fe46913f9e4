// Compiled, not linked: fails to compile where libraries/nccl.hpp differs from NVIDIA's header, or
// with -DRCCL from AMD's.
#ifdef RCCL
#include <rccl/rccl.h>
#else
#include <nccl.h>
#endif

#include "abi.hpp"
#include "libraries/nccl.hpp"

using wirespeed::Nccl;

#define HOLD_NCCL(member, symbol, ...) HOLD(decltype(Nccl::Calls::member), symbol)
WS_NCCL_CALLS(HOLD_NCCL)
WS_NCCL_SINCE_2_13(HOLD_NCCL)
#if NCCL_VERSION_CODE >= 21900
WS_NCCL_SINCE_2_19(HOLD_NCCL)
#endif
#if NCCL_VERSION_CODE >= 22700
WS_NCCL_SINCE_2_27(HOLD_NCCL)
static_assert(Nccl::symmetric_window == NCCL_WIN_COLL_SYMMETRIC);
#endif
#if NCCL_VERSION_CODE >= 22800 && !defined(RCCL)
WS_NCCL_SINCE_2_28(HOLD_NCCL)
#endif

static_assert(Nccl::success == ncclSuccess);
static_assert(Nccl::in_progress == ncclInProgress);
static_assert(Nccl::byte == ncclUint8);
static_assert(Nccl::int32 == ncclInt32 && Nccl::fp16 == ncclFloat16 && Nccl::fp32 == ncclFloat32);
static_assert(Nccl::fp64 == ncclFloat64 && Nccl::bf16 == ncclBfloat16);
static_assert(Nccl::sum == ncclSum && Nccl::max == ncclMax && Nccl::min == ncclMin);
static_assert(sizeof(Nccl::UniqueId) == sizeof(ncclUniqueId));
