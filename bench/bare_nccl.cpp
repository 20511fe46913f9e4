// The plainest ping-pong over NCCL, to hold ours against: ncclSend, ncclRecv, wait for the stream.
//
//   bare_nccl LIBNCCL GPU GPU host|stream block|poll BYTES...
//
// One process for each GPU. host: the CPU waits after each iteration, by cuStreamSynchronize
// (block) or by looking (poll); stream: it waits after the last one of a batch. Prints for each
// size the seconds one way: the median of batches, each timed as a whole.
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
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include "libraries/cuda_driver.hpp"
#include "libraries/library.hpp"
#include "libraries/nccl.hpp"

using wirespeed::Cuda;
using wirespeed::Library;
using wirespeed::Nccl;

namespace {

constexpr int batches = 61;
// Short, so that what else runs on the machine spoils few of them; but the stream's start and end
// are to be nothing.
constexpr double host_batch_seconds = 1e-3, stream_batch_seconds = 1e-2;

/// What the two processes tell each other; never while a batch runs.
struct Shared {
    std::atomic<int> arrived{0}, departures{0};
    std::atomic<int> iterations{0};
    Nccl::UniqueId id{};

    void meet() {
        const int turn = departures.load();
        if (arrived.fetch_add(1) == 1) {
            arrived = 0;
            ++departures;
        }
        while (departures.load() == turn) sched_yield();
    }
};

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

[[noreturn]] void die(const std::string& text) {
    std::fprintf(stderr, "bare_nccl: %s\n", text.c_str());
    std::_Exit(1);
}

struct Rank {
    const Cuda::Calls& cuda;
    const Nccl::Calls& nccl;
    Shared& shared;
    int rank;
    bool each_round, poll;
    Nccl::Comm comm = nullptr;
    Cuda::Stream stream = nullptr;

    void must(Cuda::Result code, const char* call) const {
        if (code != Cuda::success) die(std::string(call) + ": " + Cuda::text(cuda, code));
    }
    void nccl_must(Nccl::Result code, const char* call) const {
        if (code != Nccl::success) die(std::string(call) + ": " + Nccl::text(nccl, code, comm));
    }

    void wait() const {
        if (!poll) return must(cuda.stream_wait(stream), "cuStreamSynchronize");
        Cuda::Result code;
        while ((code = cuda.stream_query(stream)) == Cuda::not_ready) {
        }
        must(code, "cuStreamQuery");
    }

    /// Seconds of one of so many iterations.
    double batch(void* from, void* to, std::size_t bytes, int iterations) const {
        const double start = now();
        for (int i = 0; i < iterations; ++i) {
            if (rank == 0) {
                nccl_must(nccl.send(from, bytes, Nccl::byte, 1, comm, stream), "ncclSend");
                nccl_must(nccl.receive(to, bytes, Nccl::byte, 1, comm, stream), "ncclRecv");
            } else {
                nccl_must(nccl.receive(to, bytes, Nccl::byte, 0, comm, stream), "ncclRecv");
                nccl_must(nccl.send(from, bytes, Nccl::byte, 0, comm, stream), "ncclSend");
            }
            if (each_round) wait();
        }
        if (!each_round) wait();
        return (now() - start) / iterations;
    }

    void measure(std::size_t bytes) const {
        void *from = nullptr, *to = nullptr;
        must(cuda.allocate_device(&from, bytes), "cuMemAlloc");
        must(cuda.allocate_device(&to, bytes), "cuMemAlloc");
        std::vector<unsigned> content(bytes / sizeof(unsigned) + 1);
        unsigned state = 12345u + static_cast<unsigned>(rank);
        for (auto& word : content) word = state = state * 1664525u + 1013904223u;
        must(cuda.copy(from, content.data(), bytes), "cuMemcpy");
        must(cuda.stream_wait(nullptr), "cuStreamSynchronize");

        batch(from, to, bytes, 5);
        const double one = batch(from, to, bytes, 5);
        const double batch_seconds = each_round ? host_batch_seconds : stream_batch_seconds;
        if (rank == 0) shared.iterations = std::max(1, static_cast<int>(batch_seconds / one));
        shared.meet();
        const int iterations = shared.iterations;
        std::vector<double> seconds;
        for (int i = 0; i < batches; ++i) seconds.push_back(batch(from, to, bytes, iterations));
        std::nth_element(seconds.begin(), seconds.begin() + batches / 2, seconds.end());
        if (rank == 0) {
            std::printf("%zu %.9g\n", bytes, seconds[batches / 2] / 2);
            std::fflush(stdout);
        }
        cuda.free_device(from);
        cuda.free_device(to);
    }

    void run(int gpu, const std::vector<std::size_t>& sizes) {
        Cuda::Device device = 0;
        Cuda::Context context = nullptr;
        must(cuda.init(0), "cuInit");
        must(cuda.device_get(&device, gpu), "cuDeviceGet");
        must(cuda.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
        must(cuda.context_set(context), "cuCtxSetCurrent");
        must(cuda.stream_create(&stream, Cuda::stream_non_blocking), "cuStreamCreate");
        if (rank == 0) nccl_must(nccl.get_unique_id(&shared.id), "ncclGetUniqueId");
        shared.meet();
        nccl_must(nccl.init_rank(&comm, 2, shared.id, rank), "ncclCommInitRank");
        for (const std::size_t bytes : sizes) measure(bytes);
        nccl_must(nccl.destroy(comm), "ncclCommDestroy");
    }
};

int usage() {
    std::fprintf(stderr, "bare_nccl LIBNCCL GPU GPU host|stream block|poll BYTES...\n");
    return 2;
}

}  // namespace

int main(int count, char** words) {
    if (count < 7) return usage();
    const std::string iterations = words[4], how = words[5];
    if ((iterations != "host" && iterations != "stream") || (how != "block" && how != "poll"))
        return usage();
    if (*words[1]) Library::set_path("nccl", words[1]);
    if (const char* cuda = std::getenv("WIRESPEED_LIBRARY_CUDA")) Library::set_path("cuda", cuda);
    std::vector<std::size_t> sizes;
    for (int i = 6; i < count; ++i) sizes.push_back(std::strtoull(words[i], nullptr, 10));

    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("mmap");
    auto& shared = *new (memory) Shared;
    // Before any call of CUDA, which does not survive a fork.
    const pid_t child = fork();
    if (child < 0) die("fork");
    const int rank = child == 0 ? 1 : 0;
    if (rank == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        const Cuda::Calls cuda(Library("cuda", {"libcuda.so.1"}));
        const Nccl::Calls nccl(Nccl::open("cuda"));
        Rank{cuda, nccl, shared, rank, iterations == "host", how == "poll"}.run(
            std::atoi(words[2 + rank]), sizes);
    } catch (const std::exception& error) {
        die(error.what());
    }
    if (rank == 1) std::_Exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
