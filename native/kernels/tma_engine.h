// The instructions of a multiprocessor's bulk copy engine (TMA; Hopper and later): loads into
// shared memory that end a phase of a barrier there, stores from it in groups, and the waits for
// both. On the CPU a model of it that is as late as it may be.
#pragma once

#include "kernels/platform.h"

#if defined(__CUDACC_RTC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WS_HAS_TMA 1
/// An address in shared memory.
typedef u32 WsNear;

WS_INLINE WsNear ws_near(const void* address) { return (u32)__cvta_generic_to_shared(address); }

/// A phase of the barrier ends with one arrival, when all bytes that it expects have arrived.
WS_INLINE void ws_tma_begin_barrier(WsNear barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
WS_INLINE void ws_tma_barriers_begun() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
}
/// What plain stores wrote before may be read by copies after it, and the other way round.
WS_INLINE void ws_tma_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

/// Arrives at the barrier as well.
WS_INLINE void ws_tma_load(WsNear to, u64 from, u32 bytes, WsNear barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

/// Until the phase of this parity has ended.
WS_INLINE void ws_tma_wait(WsNear barrier, u32 parity) {
    u32 ended = 0;
    while (!ended)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, "
            "0, p; }"
            : "=r"(ended)
            : "r"(barrier), "r"(parity)
            : "memory");
}

/// A group by itself.
WS_INLINE void ws_tma_store(u64 to, WsNear from, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Until all but this thread's last `most` groups have read what they store.
template <int most> WS_INLINE void ws_tma_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(most) : "memory");
}
/// Until all of this thread's groups have written it.
WS_INLINE void ws_tma_wait_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

#elif defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define WS_HAS_TMA 0

#else
#include "kernels/tma_model.hpp"

#define WS_HAS_TMA 1
typedef u64 WsNear;

WS_INLINE WsNear ws_near(const void* address) { return (u64)address; }
WS_INLINE void ws_tma_begin_barrier(WsNear barrier) { wirespeed::cpu::tma().begin((void*)barrier); }
WS_INLINE void ws_tma_barriers_begun() {}
WS_INLINE void ws_tma_fence() { wirespeed::cpu::tma().fence(); }
WS_INLINE void ws_tma_load(WsNear to, u64 from, u32 bytes, WsNear barrier) {
    wirespeed::cpu::tma().load((u8*)to, ws_at<u8>(from), bytes, (void*)barrier);
}
WS_INLINE void ws_tma_wait(WsNear barrier, u32 parity) {
    wirespeed::cpu::tma().wait((void*)barrier, parity);
}
WS_INLINE void ws_tma_store(u64 to, WsNear from, u32 bytes) {
    wirespeed::cpu::tma().store(ws_at<u8>(to), (u8*)from, bytes);
}
template <int most> WS_INLINE void ws_tma_wait_read() { wirespeed::cpu::tma().wait_read(most); }
WS_INLINE void ws_tma_wait_written() { wirespeed::cpu::tma().wait_written(); }
#endif
