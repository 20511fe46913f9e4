// What a run-time compiler defines by itself, for clang without ROCm: compiles kernels for AMD GPUs
// and, by way of HIP's language, for SPIR-V.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define INDEX(name, value)                                \
    struct name##_t {                                     \
        __declspec(property(get = get)) unsigned x;       \
        __device__ unsigned get() const { return value; } \
    };                                                    \
    extern const __device__ name##_t name

#ifdef __SPIRV__
#define __launch_bounds__(threads, ...)
INDEX(threadIdx, __builtin_spirv_local_invocation_id(0));
INDEX(blockIdx, __builtin_spirv_workgroup_id(0));
INDEX(blockDim, __builtin_spirv_workgroup_size(0));
INDEX(gridDim, __builtin_spirv_num_workgroups(0));
// Scopes: 0 all devices, 1 this device, 2 the block. 0x310: in order, for the memory of block and
// device.
__device__ void __spirv_ControlBarrier(int, int, int) __attribute__((convergent));
__device__ void __spirv_MemoryBarrier(int, int);
__device__ unsigned long __spirv_ReadClockKHR(int);
__device__ inline void __syncthreads() { __spirv_ControlBarrier(2, 2, 0x310); }
__device__ inline void __threadfence_system() { __spirv_MemoryBarrier(0, 0x310); }
__device__ inline unsigned long long wall_clock64() { return __spirv_ReadClockKHR(1); }
#else
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
INDEX(threadIdx, __builtin_amdgcn_workitem_id_x());
INDEX(blockIdx, __builtin_amdgcn_workgroup_id_x());
INDEX(blockDim, __builtin_amdgcn_workgroup_size_x());
INDEX(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x());
__device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
__device__ inline unsigned long long wall_clock64() { return __builtin_readsteadycounter(); }
#endif

/// HIP's own exchanges numbers; this one is compiled and never run.
template <class T> __device__ inline T __shfl(T value, int, int) { return value; }
__device__ inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class T> __device__ inline T atomicAdd(T* to, T value) {
    return __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> __device__ inline T atomicOr(T* to, T value) {
    return __hip_atomic_fetch_or(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T> __device__ inline T atomicMin(T* to, T value) {
    return __hip_atomic_fetch_min(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
