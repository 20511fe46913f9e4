// What a kernel may use, once for each platform: CUDA and HIP (compiled at run time) and the CPU
// (compiled with the core, where the threads of a block take turns). No includes on GPUs: NVRTC and
// hipRTC have none.
#pragma once

#include "kernels/integers.h"

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define WS_KERNEL extern "C" __global__ void
/// Names a kernel of wirespeed/programs once, behind it: the CPU finds it by that.
#define WS_REGISTER(kernel)
/// One that is launched with up to 512 threads a block.
#define WS_WIDE_KERNEL extern "C" __global__ void __launch_bounds__(512, 1)
/// One that is launched with up to that many threads a block, so many blocks a multiprocessor.
#define WS_BOUNDED_KERNEL(threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks)
#define WS_INLINE static __device__ __forceinline__
#define WS_MEMBER __device__ __forceinline__
/// What is seldom needed lies elsewhere: a loop on the critical path must fit the smallest
/// instruction cache.
#define WS_SELDOM static __device__ __noinline__
#define WS_SHARED __shared__
#define WS_UNROLL _Pragma("unroll")
#define WS_ROLLED _Pragma("unroll 1")

WS_INLINE u64 ws_block() { return blockIdx.x; }
WS_INLINE u64 ws_blocks() { return gridDim.x; }
WS_INLINE u32 ws_lane() { return threadIdx.x; }
WS_INLINE u32 ws_lanes() { return blockDim.x; }
WS_INLINE u64 ws_thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
WS_INLINE u64 ws_threads() { return (u64)gridDim.x * blockDim.x; }
/// All threads of the block have come here, and see what the others wrote before.
WS_INLINE void ws_sync() { __syncthreads(); }
/// The same for a block of one warp; AMD's are wider.
#if defined(__CUDACC_RTC__)
WS_INLINE void ws_sync_warp() { __syncwarp(); }
#else
WS_INLINE void ws_sync_warp() { __syncthreads(); }
#endif
/// What this thread wrote, or saw others write, is seen by every processor before what comes next.
WS_INLINE void ws_fence() { __threadfence_system(); }
/// The same for what follows in stores, which is less to wait for.
#if defined(__CUDACC_RTC__)
WS_INLINE void ws_release_fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
#else
WS_INLINE void ws_release_fence() { ws_fence(); }
#endif
#if defined(__CUDACC_RTC__)
#define WS_WARP 32
/// The sum over the warp's lanes, on its first one; all lanes come here.
WS_INLINE double ws_warp_sum(double mine) {
    WS_UNROLL
    for (int half = WS_WARP / 2; half; half /= 2) mine += __shfl_down_sync(~0u, mine, half);
    return mine;
}
#endif

/// Runs body(i) for every i < count, thread `me` of `all`: neighbouring threads on neighbouring i.
template <class Body> WS_INLINE void ws_for_each_of(u64 me, u64 all, u64 count, Body body) {
    for (u64 i = me; i < count; i += all) body(i);
}
/// The same by the lanes of this block alone.
template <class Body> WS_INLINE void ws_for_each_lane(u32 count, Body body) {
    WS_ROLLED
    for (u32 i = ws_lane(); i < count; i += ws_lanes()) body(i);
}

/// The number itself, from which compilers compute nothing ahead of a loop, which takes registers.
WS_INLINE u64 ws_opaque(u64 number) {
#if defined(__CUDACC_RTC__)
    asm volatile("" : "+l"(number));
#endif
    return number;
}

/// a * b + c: rounded once on GPUs, twice on CPUs, whose oldest have no such instruction.
WS_INLINE double ws_fma(double a, double b, double c) { return fma(a, b, c); }

WS_INLINE void ws_atomic_min(u64* to, u64 value) { atomicMin(to, value); }
WS_INLINE void ws_atomic_or(u64* to, u64 value) { atomicOr(to, value); }
/// What stood there before.
WS_INLINE u32 ws_atomic_add(u32* to, u32 value) { return atomicAdd(to, value); }
WS_INLINE u64 ws_atomic_add(u64* to, u64 value) { return atomicAdd(to, value); }

/// An address kept as a number, as the kernel may follow it.
template <class T> WS_INLINE T* ws_at(u64 address) { return (T*)address; }
WS_INLINE void ws_pause() {}
/// This thread was told to end, and comes to no barrier any more that others may come to; false.
WS_INLINE bool ws_give_up() { return false; }
#define WS_PATIENCE 2048
#define WS_MOST_LANES 512

#else
#include <time.h>

#include <atomic>
#include <cstring>

#include "kernels/cpu.hpp"

#define WS_KERNEL [[maybe_unused]] static void
#define WS_REGISTER(kernel) static const wirespeed::cpu::Add<kernel> add_##kernel{#kernel};
#define WS_WIDE_KERNEL WS_KERNEL
#define WS_BOUNDED_KERNEL(threads, blocks) WS_KERNEL
#define WS_INLINE static inline
#define WS_MEMBER inline
#define WS_SELDOM static inline
#define WS_SHARED static thread_local
#define WS_UNROLL
#define WS_ROLLED

WS_INLINE u64 ws_block() { return wirespeed::cpu::grid.block; }
WS_INLINE u64 ws_blocks() { return wirespeed::cpu::grid.blocks; }
WS_INLINE u32 ws_lane() { return wirespeed::cpu::grid.lane; }
WS_INLINE u32 ws_lanes() { return wirespeed::cpu::grid.lanes; }
WS_INLINE u64 ws_thread() { return ws_block() * ws_lanes() + ws_lane(); }
WS_INLINE u64 ws_threads() { return ws_blocks() * ws_lanes(); }
WS_INLINE void ws_sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (ws_lanes() > 1) wirespeed::cpu::meet({file, line});
}
WS_INLINE void ws_sync_warp(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (ws_lanes() > 1) wirespeed::cpu::meet_warp({file, line});
}
WS_INLINE void ws_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
WS_INLINE void ws_release_fence() { ws_fence(); }

/// Runs body(i) for every i < count, thread `me` of `all`: each thread on a range of its own.
template <class Body> WS_INLINE void ws_for_each_of(u64 me, u64 all, u64 count, Body body) {
    const u64 each = (count + all - 1) / all;
    const u64 first = me * each;
    const u64 last = first + each < count ? first + each : count;
    for (u64 i = first; i < last; ++i) body(i);
}
template <class Body> WS_INLINE void ws_for_each_lane(u32 count, Body body) {
    const u32 each = (count + ws_lanes() - 1) / ws_lanes();
    const u32 first = ws_lane() * each;
    const u32 last = first + each < count ? first + each : count;
    for (u32 i = first; i < last; ++i) body(i);
}

WS_INLINE u64 ws_opaque(u64 number) { return number; }

WS_INLINE double ws_fma(double a, double b, double c) { return a * b + c; }

WS_INLINE void ws_atomic_min(u64* to, u64 value) {
    std::atomic_ref<u64> shared(*to);
    u64 seen = shared.load();
    while (value < seen && !shared.compare_exchange_weak(seen, value)) {
    }
}

WS_INLINE void ws_atomic_or(u64* to, u64 value) { std::atomic_ref<u64>(*to).fetch_or(value); }

WS_INLINE u32 ws_atomic_add(u32* to, u32 value) {
    return std::atomic_ref<u32>(*to).fetch_add(value);
}
WS_INLINE u64 ws_atomic_add(u64* to, u64 value) {
    return std::atomic_ref<u64>(*to).fetch_add(value);
}

template <class T> WS_INLINE T* ws_at(u64 address) {
    return static_cast<T*>(wirespeed::cpu::grid.translate(reinterpret_cast<void*>(address)));
}
WS_INLINE void ws_pause() { wirespeed::cpu::pause(); }
WS_INLINE bool ws_give_up() {
    wirespeed::cpu::give_up();
    return false;
}
#define WS_PATIENCE 32
#define WS_MOST_LANES wirespeed::cpu::grid.most_lanes
#endif

/// By all threads of the grid.
template <class Body> WS_INLINE void ws_for_each(u64 count, Body body) {
    ws_for_each_of(ws_thread(), ws_threads(), count, body);
}
