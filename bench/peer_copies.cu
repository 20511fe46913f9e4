// Plain kernels that write to another GPU's memory and read from it, and the copy engine beside
// them. For Nsight Compute, whose counters say how much of NVLink's traffic is data:
//   nvcc -O3 -arch=native -o peer_copies peer_copies.cu && ./peer_copies
//   ncu --metrics nvltx__bytes_data_user.sum,nvltx__bytes_data_protocol.sum ./peer_copies
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

namespace {

constexpr std::size_t bytes = std::size_t{1} << 30, count = bytes / sizeof(uint4);

void check(cudaError_t code, const char* call) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    std::exit(1);
}

__device__ void copy(uint4* to, const uint4* from) {
    const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += threads)
        to[i] = from[i];
}

__global__ void push(uint4* theirs, const uint4* mine) { copy(theirs, mine); }
__global__ void pull(uint4* mine, const uint4* theirs) { copy(mine, theirs); }

/// The second of two copies counts.
template <class Start> void measure(const char* name, int blocks, Start start) {
    cudaEvent_t begun, ended;
    check(cudaEventCreate(&begun), "cudaEventCreate");
    check(cudaEventCreate(&ended), "cudaEventCreate");
    float milliseconds = 0;
    for (int repeat = 0; repeat < 2; ++repeat) {
        check(cudaEventRecord(begun), "cudaEventRecord");
        start();
        check(cudaEventRecord(ended), "cudaEventRecord");
        check(cudaEventSynchronize(ended), name);
        check(cudaEventElapsedTime(&milliseconds, begun, ended), "cudaEventElapsedTime");
    }
    std::printf("%s, %d blocks: %.1f GB/s\n", name, blocks, bytes / 1e6 / milliseconds);
}

}  // namespace

int main() {
    uint4* memory[2];
    for (const int gpu : {1, 0}) {
        check(cudaSetDevice(gpu), "cudaSetDevice");
        check(cudaMalloc(&memory[gpu], bytes), "cudaMalloc");
        check(cudaMemset(memory[gpu], gpu + 3, bytes), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    check(cudaDeviceEnablePeerAccess(1, 0), "cudaDeviceEnablePeerAccess");
    uint4 *const mine = memory[0], *const theirs = memory[1];
    for (const int blocks : {132, 528}) {
        measure("push", blocks, [&] { push<<<blocks, 512>>>(theirs, mine); });
        measure("pull", blocks, [&] { pull<<<blocks, 512>>>(mine, theirs); });
    }
    measure("copy engine", 0,
            [&] { check(cudaMemcpyPeerAsync(theirs, 1, mine, 0, bytes), "cudaMemcpyPeerAsync"); });
}
