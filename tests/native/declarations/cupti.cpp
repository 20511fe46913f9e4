// Compiled, not linked: fails to compile where libraries/cupti.hpp differs from NVIDIA's header.
#include <cupti.h>

#include <cstddef>

#include "abi.hpp"
#include "libraries/cupti.hpp"

using wirespeed::Cupti;

#define HOLD_CUPTI(member, symbol, ...) HOLD(decltype(Cupti::Calls::member), symbol)
WS_CUPTI_CALLS(HOLD_CUPTI)

static_assert(Cupti::success == CUPTI_SUCCESS);
static_assert(Cupti::copy == CUPTI_ACTIVITY_KIND_MEMCPY);
static_assert(Cupti::peer_copy == CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(Cupti::host_to_device == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
static_assert(Cupti::device_to_host == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
static_assert(Cupti::on_device == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
static_assert(Cupti::peer == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
static_assert(Cupti::forced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

template <class Theirs> constexpr bool begins_alike() {
    return offsetof(Theirs, kind) == offsetof(Cupti::Record, kind) &&
           offsetof(Theirs, copyKind) == offsetof(Cupti::Record, copy_kind) &&
           offsetof(Theirs, bytes) == offsetof(Cupti::Record, bytes);
}
static_assert(begins_alike<CUpti_ActivityMemcpy6>());
static_assert(begins_alike<CUpti_ActivityMemcpyPtoP4>());
