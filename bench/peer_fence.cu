// What a message of a kernel to another GPU is made of: the stores, the fence that waits until they
// have arrived, and a word that tells the other GPU. Loops of each in one kernel, by the GPU's
// clock.
//   nvcc -O3 -arch=native -o peer_fence peer_fence.cu && ./peer_fence
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int loops = 2000, repeats = 15;

void check(cudaError_t code, const char* call) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    std::exit(1);
}

__device__ std::uint64_t now() {
    std::uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

/// Each block stores its share, again and again.
template <bool fences>
__global__ void store(uint4* theirs, std::size_t count, std::uint64_t* took) {
    const std::uint64_t began = now();
    for (unsigned loop = 0; loop < loops; ++loop) {
        for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
             i += std::size_t{gridDim.x} * blockDim.x)
            asm volatile("st.volatile.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(theirs + i),
                         "r"(loop)
                         : "memory");
        __syncthreads();
        if (fences && threadIdx.x == 0) asm volatile("fence.acq_rel.sys;" ::: "memory");
        __syncthreads();
    }
    if (threadIdx.x == 0) took[blockIdx.x] = now() - began;
}

/// Two kernels raise a word for each other, by turns.
__global__ void play(volatile std::uint32_t* mine, volatile std::uint32_t* theirs, bool first,
                     std::uint64_t* took) {
    const std::uint64_t began = now();
    for (std::uint32_t loop = 1; loop <= loops; ++loop) {
        if (first) *theirs = loop;
        while (*mine != loop) {
        }
        if (!first) *theirs = loop;
    }
    *took = now() - began;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + repeats / 2, values.end());
    return values[repeats / 2];
}

void print(const char* what, std::vector<double> values) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    std::printf("%-46s %8.3f us  (%.3f to %.3f)\n", what, median(values), *least, *most);
}

struct Gpus {
    uint4* memory[2];
    std::uint64_t* took[2];
    cudaStream_t streams[2];

    void wait() const {
        for (const int gpu : {0, 1}) {
            check(cudaSetDevice(gpu), "cudaSetDevice");
            check(cudaStreamSynchronize(streams[gpu]), "cudaStreamSynchronize");
        }
    }

    void stores(const char* what, std::size_t bytes, int blocks, bool fences) const {
        std::vector<double> values;
        check(cudaSetDevice(0), "cudaSetDevice");
        for (int repeat = 0; repeat <= repeats; ++repeat) {
            const auto kernel = fences ? store<true> : store<false>;
            kernel<<<blocks, 256, 0, streams[0]>>>(memory[1], bytes / sizeof(uint4), took[0]);
            check(cudaStreamSynchronize(streams[0]), what);
            const std::uint64_t longest = *std::max_element(took[0], took[0] + blocks);
            if (repeat) values.push_back(static_cast<double>(longest) / 1e3 / loops);
        }
        print(what, values);
    }

    void word() const {
        std::vector<double> values;
        for (int repeat = 0; repeat <= repeats; ++repeat) {
            for (const int gpu : {0, 1}) {
                check(cudaSetDevice(gpu), "cudaSetDevice");
                check(cudaMemset(memory[gpu], 0, sizeof(uint4)), "cudaMemset");
                check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
            }
            for (const int gpu : {1, 0}) {
                check(cudaSetDevice(gpu), "cudaSetDevice");
                play<<<1, 1, 0, streams[gpu]>>>(reinterpret_cast<std::uint32_t*>(memory[gpu]),
                                                reinterpret_cast<std::uint32_t*>(memory[1 - gpu]),
                                                gpu == 0, took[gpu]);
            }
            wait();
            if (repeat) values.push_back(static_cast<double>(*took[0]) / 1e3 / loops / 2);
        }
        print("a word, one way", values);
    }
};

}  // namespace

int main() {
    constexpr std::size_t most = 1 << 20;
    constexpr int most_blocks = 64;
    Gpus gpus;
    for (const int gpu : {0, 1}) {
        check(cudaSetDevice(gpu), "cudaSetDevice");
        check(cudaDeviceEnablePeerAccess(1 - gpu, 0), "cudaDeviceEnablePeerAccess");
        check(cudaMalloc(&gpus.memory[gpu], most), "cudaMalloc");
        check(cudaMallocHost(&gpus.took[gpu], most_blocks * sizeof(std::uint64_t)),
              "cudaMallocHost");
        check(cudaStreamCreate(&gpus.streams[gpu]), "cudaStreamCreate");
    }
    gpus.word();
    gpus.stores("64 KiB stored by 16 blocks", 64 << 10, 16, false);
    gpus.stores("64 KiB stored by 16 blocks, and a fence", 64 << 10, 16, true);
    gpus.stores("1 MiB stored by 64 blocks", 1 << 20, 64, false);
    gpus.stores("1 MiB stored by 64 blocks, and a fence", 1 << 20, 64, true);
    return 0;
}
