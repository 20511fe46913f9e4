// The plainest ping-pong over CUDA IPC, to hold ours against: copy into the other process's buffer,
// wait for the stream, raise a word in shared memory that the other side looks at.
//   nvcc -O3 -o bare_ipc bare_ipc.cu && ./bare_ipc GPU GPU BYTES...
// One process for each GPU. Prints for each size the seconds one way: the median of batches.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int batches = 61;
constexpr double batch_seconds = 1e-3;

struct alignas(128) Word {
    std::atomic<unsigned> value{0};
};

struct Shared {
    Word arrived[2];
    Word meeting[2];
    std::atomic<int> iterations{0};
    cudaIpcMemHandle_t handles[2];
};

void check(cudaError_t code, const char* call) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
    std::_Exit(1);
}

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Process {
  public:
    Process(Shared& shared, int me, int gpu, std::size_t most) : shared_(shared), me_(me) {
        check(cudaSetDevice(gpu), "cudaSetDevice");
        check(cudaMalloc(&send_, most), "cudaMalloc");
        check(cudaMalloc(&receive_, most), "cudaMalloc");
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
        check(cudaIpcGetMemHandle(&shared.handles[me], receive_), "cudaIpcGetMemHandle");
        meet();
        check(
            cudaIpcOpenMemHandle(&theirs_, shared.handles[1 - me], cudaIpcMemLazyEnablePeerAccess),
            "cudaIpcOpenMemHandle");
        meet();
    }

    void measure(std::size_t bytes) {
        play(bytes, 5);
        meet();
        const double began = now();
        play(bytes, 5);
        if (me_ == 0)
            shared_.iterations =
                std::clamp(static_cast<int>(batch_seconds / (now() - began) * 5), 1, 1000);
        meet();
        const int iterations = shared_.iterations;
        std::vector<double> seconds;
        for (int batch = 0; batch < batches; ++batch) {
            meet();
            play(bytes, 2);
            const double start = now();
            play(bytes, iterations);
            seconds.push_back((now() - start) / iterations / 2);
        }
        std::nth_element(seconds.begin(), seconds.begin() + batches / 2, seconds.end());
        if (me_ == 0) std::printf("%zu %.9g\n", bytes, seconds[batches / 2]);
    }

  private:
    void play(std::size_t bytes, int iterations) {
        for (int i = 0; i < iterations; ++i) {
            if (me_ == 0) send(bytes);
            receive();
            if (me_ == 1) send(bytes);
        }
    }
    void send(std::size_t bytes) {
        check(cudaMemcpyAsync(theirs_, send_, bytes, cudaMemcpyDefault, stream_),
              "cudaMemcpyAsync");
        check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        shared_.arrived[1 - me_].value.store(++sent_, std::memory_order_release);
    }
    void receive() {
        ++received_;
        while (shared_.arrived[me_].value.load(std::memory_order_acquire) != received_) {
        }
    }
    void meet() {
        const unsigned turn = ++met_;
        shared_.meeting[me_].value = turn;
        while (shared_.meeting[1 - me_].value < turn) sched_yield();
    }

    Shared& shared_;
    int me_;
    void *send_ = nullptr, *receive_ = nullptr, *theirs_ = nullptr;
    cudaStream_t stream_ = nullptr;
    unsigned sent_ = 0, received_ = 0, met_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto& shared = *new (memory) Shared;
    std::vector<std::size_t> sizes;
    for (int i = 3; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    const pid_t child = fork();
    if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int me = child == 0 ? 1 : 0;
    {
        Process process(shared, me, std::atoi(argv[1 + me]),
                        std::max<std::size_t>(*std::max_element(sizes.begin(), sizes.end()), 1));
        for (const std::size_t bytes : sizes) process.measure(bytes);
        std::fflush(stdout);
    }
    if (child == 0) std::_Exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
}
