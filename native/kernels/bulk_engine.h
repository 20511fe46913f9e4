// What the bulk copy engine of a multiprocessor is asked for (Hopper and later): loads into shared
// memory that end a phase of a barrier there, stores from it in groups, and the waits for both. On
// the CPU a model of it that is as late as it may be.
#pragma once

#include "kernels/platform.h"

#if defined(__CUDACC_RTC__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define WS_HAS_BULK 1
/// An address in shared memory.
typedef u32 WsNear;

WS_INLINE WsNear ws_near(const void* address) { return (u32)__cvta_generic_to_shared(address); }

/// A phase of the barrier ends with one arrival, when all bytes are there that it expects.
WS_INLINE void ws_bulk_begin_barrier(WsNear barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
WS_INLINE void ws_bulk_barriers_begun() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
}
/// What plain stores wrote before may be read by copies after it, and the other way round.
WS_INLINE void ws_bulk_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }

/// Arrives at the barrier as well.
WS_INLINE void ws_bulk_load(WsNear to, u64 from, u32 bytes, WsNear barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

/// Until the phase of this parity has ended.
WS_INLINE void ws_bulk_wait(WsNear barrier, u32 parity) {
    u32 there = 0;
    while (!there)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, "
            "0, p; }"
            : "=r"(there)
            : "r"(barrier), "r"(parity)
            : "memory");
}

/// A group by itself.
WS_INLINE void ws_bulk_store(u64 to, WsNear from, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Until all but this thread's last `most` groups have read what they store.
template <int most> WS_INLINE void ws_bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(most) : "memory");
}
/// Until all of this thread's groups have written it.
WS_INLINE void ws_bulk_wait_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

#elif defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define WS_HAS_BULK 0

#else
#include "kernels/bulk_model.hpp"

#define WS_HAS_BULK 1
typedef u64 WsNear;

WS_INLINE WsNear ws_near(const void* address) { return (u64)address; }
WS_INLINE void ws_bulk_begin_barrier(WsNear barrier) {
    wirespeed::cpu::bulk().begin((void*)barrier);
}
WS_INLINE void ws_bulk_barriers_begun() {}
WS_INLINE void ws_bulk_fence() { wirespeed::cpu::bulk().fence(); }
WS_INLINE void ws_bulk_load(WsNear to, u64 from, u32 bytes, WsNear barrier) {
    wirespeed::cpu::bulk().load((u8*)to, ws_at<u8>(from), bytes, (void*)barrier);
}
WS_INLINE void ws_bulk_wait(WsNear barrier, u32 parity) {
    wirespeed::cpu::bulk().wait((void*)barrier, parity);
}
WS_INLINE void ws_bulk_store(u64 to, WsNear from, u32 bytes) {
    wirespeed::cpu::bulk().store(ws_at<u8>(to), (u8*)from, bytes);
}
template <int most> WS_INLINE void ws_bulk_wait_read() { wirespeed::cpu::bulk().wait_read(most); }
WS_INLINE void ws_bulk_wait_written() { wirespeed::cpu::bulk().wait_written(); }
#endif
