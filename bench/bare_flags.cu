// The least that two GPUs can say to each other: one word there and one word back, by two kernels
// of one thread each that write into each other's memory. Prints the time of one way, in seconds:
//   nvcc -O3 -arch=native -o bare_flags bare_flags.cu && ./bare_flags [ROUNDS] [REPEATS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

namespace {

void check(cudaError_t code, const char* call) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    std::exit(1);
}

__device__ unsigned load(const unsigned* at) {
    unsigned value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
__device__ void store(unsigned* at, unsigned value) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
__device__ unsigned long long nanoseconds() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

__global__ void play(unsigned* mine, unsigned* theirs, unsigned first, unsigned iterations,
                     bool leads, unsigned long long* took) {
    const unsigned long long began = nanoseconds();
    for (unsigned iteration = first; iteration < first + iterations; ++iteration) {
        if (leads) store(theirs, iteration);
        while (load(mine) != iteration) {
        }
        if (!leads) store(theirs, iteration);
    }
    *took = nanoseconds() - began;
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned iterations = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 20000;
    const int repeats = argc > 2 ? std::atoi(argv[2]) : 11;
    unsigned* words[2];
    unsigned long long* took[2];
    cudaStream_t streams[2];
    for (int gpu = 0; gpu < 2; ++gpu) {
        check(cudaSetDevice(gpu), "cudaSetDevice");
        check(cudaDeviceEnablePeerAccess(1 - gpu, 0), "cudaDeviceEnablePeerAccess");
        check(cudaMalloc(&words[gpu], 128), "cudaMalloc");
        check(cudaMemset(words[gpu], 0, 128), "cudaMemset");
        check(cudaMallocManaged(&took[gpu], sizeof **took), "cudaMallocManaged");
        check(cudaStreamCreateWithFlags(&streams[gpu], cudaStreamNonBlocking), "cudaStreamCreate");
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    std::vector<double> times;
    unsigned first = 1;
    for (int repeat = 0; repeat <= repeats; ++repeat, first += iterations) {
        for (int gpu = 0; gpu < 2; ++gpu) {
            check(cudaSetDevice(gpu), "cudaSetDevice");
            play<<<1, 1, 0, streams[gpu]>>>(words[gpu], words[1 - gpu], first, iterations, gpu == 0,
                                            took[gpu]);
            check(cudaGetLastError(), "launch");
        }
        for (int gpu = 0; gpu < 2; ++gpu) check(cudaStreamSynchronize(streams[gpu]), "wait");
        // The first repeat warms up. The leader's clock starts before its partner is there.
        if (repeat) times.push_back(1e-9 * static_cast<double>(*took[1]) / iterations / 2);
    }
    std::sort(times.begin(), times.end());
    std::printf("%.9g\n", times[times.size() / 2]);
}
