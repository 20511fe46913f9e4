// What a kernel may use, once for each platform: CUDA and HIP (compiled at run time) and the CPU
// (compiled with the core, one thread per block). No includes on GPUs: NVRTC and hipRTC have none.
#pragma once

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define WS_KERNEL extern "C" __global__ void
#define WS_INLINE static __device__ inline

WS_INLINE u64 ws_thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
WS_INLINE u64 ws_threads() { return (u64)gridDim.x * blockDim.x; }

/// Runs body(i) for every i < count, neighbouring threads on neighbouring i.
template <class Body> WS_INLINE void ws_for_each(u64 count, Body body) {
    for (u64 i = ws_thread(); i < count; i += ws_threads()) body(i);
}

WS_INLINE void ws_atomic_min(u64* to, u64 value) { atomicMin(to, value); }

#else
#include <atomic>

#include "kernels/cpu.hpp"

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define WS_KERNEL static void
#define WS_INLINE static inline

WS_INLINE u64 ws_thread() { return wirespeed::cpu::grid.block; }
WS_INLINE u64 ws_threads() { return wirespeed::cpu::grid.blocks; }

/// Runs body(i) for every i < count, each block on a range of its own.
template <class Body> WS_INLINE void ws_for_each(u64 count, Body body) {
    const u64 each = (count + ws_threads() - 1) / ws_threads();
    const u64 first = ws_thread() * each;
    const u64 last = first + each < count ? first + each : count;
    for (u64 i = first; i < last; ++i) body(i);
}

WS_INLINE void ws_atomic_min(u64* to, u64 value) {
    std::atomic_ref<u64> shared(*to);
    u64 seen = shared.load();
    while (value < seen && !shared.compare_exchange_weak(seen, value)) {
    }
}
#endif
