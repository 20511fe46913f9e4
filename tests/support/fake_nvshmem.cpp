// For tests alone: a libnvshmem_host.so.3 without a GPU. The heaps of all processing elements lie
// in one file of /dev/shm, which each maps whole; what NVSHMEM enqueues in a stream is done at
// once, but a get or a put without a signal at the next quiet. Collective calls wait for each other
// as NVSHMEM's do, and end the process when they differ.
//
//   g++ -std=c++20 -shared -fPIC -I native fake_nvshmem.cpp -o libnvshmem_host.so.3
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/element_kernels.h"
#include "libraries/nvshmem.hpp"

using wirespeed::Nvshmem;

namespace {

constexpr std::size_t heap_bytes = std::size_t{1} << 30, first_page = 4096;

/// At the start of the file.
struct Shared {
    std::atomic<int> arrived, generation;
    std::atomic<std::size_t> asked;  ///< of the collective call under way
};

int me = -1, elements = 0;
std::byte* file = nullptr;
std::size_t used = 0;

Shared& shared() { return *reinterpret_cast<Shared*>(file); }
std::byte* heap(int element) {
    return file + first_page + static_cast<std::size_t>(element) * heap_bytes;
}

[[noreturn]] void end(const char* why) {
    std::fprintf(stderr, "fake NVSHMEM: %s\n", why);
    std::_Exit(70);
}

void barrier() {
    const int before = shared().generation.load();
    if (shared().arrived.fetch_add(1) + 1 == elements) {
        shared().arrived = 0;
        shared().generation = before + 1;
        return;
    }
    while (shared().generation.load() == before) sched_yield();
}

/// All elements ask for the same.
void together(std::size_t what) {
    if (me == 0) shared().asked = what;
    barrier();
    if (shared().asked != what) end("elements differ in a collective call");
    barrier();
}

template <class Word> Word* at_peer(Word* mine, int peer) {
    auto* const address =
        reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<Word>*>(mine));
    if (address < heap(me) || address >= heap(me) + heap_bytes) end("not in the symmetric heap");
    return reinterpret_cast<Word*>(heap(peer) + (address - heap(me)));
}

/// Puts and gets that no quiet has ended.
std::vector<std::function<void()>> under_way;

/// What all give lies still while each makes its own results of it.
int team(Nvshmem::Team team, std::size_t what, const std::function<void()>& work) {
    if (team != Nvshmem::world) end("a team that it does not know");
    together(what);
    work();
    barrier();
    return 0;
}

/// Elements `first`, ... of all, combined. `kind` and `how` as kernels number them.
int combined(u64 kind, u64 how, void* to, const void* from, std::size_t first, std::size_t count) {
    ws_with_type(kind, [&](auto element) {
        using Element = decltype(element);
        const auto given = [&](int peer) {
            return at_peer(static_cast<const Element*>(from), peer) + first;
        };
        std::vector<Element> result(given(0), given(0) + count);
        for (int peer = 1; peer < elements; ++peer)
            for (std::size_t i = 0; i < count; ++i)
                ws_round(ws_combined(ws_number(result[i]), ws_number(given(peer)[i]), how),
                         result[i]);
        // In place, others still read what this one gives.
        barrier();
        std::memcpy(to, result.data(), count * sizeof(Element));
    });
    return 0;
}

constexpr u64 sum = 0, max = 1, min = 2;
constexpr u64 kind_float = 0, kind_half = 1, kind_bfloat16 = 2, kind_double = 3, kind_int32 = 4;

}  // namespace

extern "C" {

#define REDUCE(reduction, operation, type)                                                        \
    int nvshmemx_##type##_##reduction##_reduce_on_stream(                                         \
        Nvshmem::Team world, void* to, const void* from, std::size_t count, void*) {              \
        return team(world, count, [=] { combined(kind_##type, reduction, to, from, 0, count); }); \
    }
WS_NVSHMEM_REDUCTIONS(REDUCE, reduce)
#define SCATTER(reduction, operation, type)                                                  \
    int nvshmemx_##type##_##reduction##_reducescatter_on_stream(                             \
        Nvshmem::Team world, void* to, const void* from, std::size_t count, void*) {         \
        return team(world, count, [=] {                                                      \
            combined(kind_##type, reduction, to, from, count * static_cast<std::size_t>(me), \
                     count);                                                                 \
        });                                                                                  \
    }
WS_NVSHMEM_REDUCTIONS(SCATTER, reducescatter)

int nvshmemx_barrier_on_stream(Nvshmem::Team world, void*) {
    return team(world, 0, [] {});
}
int nvshmemx_broadcastmem_on_stream(Nvshmem::Team world, void* to, const void* from,
                                    std::size_t bytes, int root, void*) {
    return team(world, bytes, [=] { std::memcpy(to, at_peer(from, root), bytes); });
}
int nvshmemx_fcollectmem_on_stream(Nvshmem::Team world, void* to, const void* from,
                                   std::size_t bytes, void*) {
    return team(world, bytes, [=] {
        for (int peer = 0; peer < elements; ++peer)
            std::memcpy(static_cast<std::byte*>(to) + static_cast<std::size_t>(peer) * bytes,
                        at_peer(from, peer), bytes);
    });
}
int nvshmemx_alltoallmem_on_stream(Nvshmem::Team world, void* to, const void* from,
                                   std::size_t bytes, void*) {
    return team(world, bytes, [=] {
        for (int peer = 0; peer < elements; ++peer)
            std::memcpy(static_cast<std::byte*>(to) + static_cast<std::size_t>(peer) * bytes,
                        static_cast<const std::byte*>(at_peer(from, peer)) +
                            static_cast<std::size_t>(me) * bytes,
                        bytes);
    });
}

void nvshmemx_putmem_on_stream(void* to, const void* from, std::size_t bytes, int peer, void*) {
    under_way.emplace_back([=] { std::memcpy(at_peer(to, peer), from, bytes); });
}
void nvshmemx_getmem_on_stream(void* to, const void* from, std::size_t bytes, int peer, void*) {
    under_way.emplace_back([=] { std::memcpy(to, at_peer(from, peer), bytes); });
}
void nvshmemx_quiet_on_stream(void*) {
    for (const auto& each : under_way) each();
    under_way.clear();
}

int wirespeed_emulates_nvshmem = 1;

int nvshmemx_get_uniqueid(Nvshmem::UniqueId* id) {
    std::snprintf(id->content, sizeof id->content, "/wirespeed-nvshmem-%d", getpid());
    const int made = shm_open(id->content, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (made < 0) return 1;
    close(made);
    return 0;
}

int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const Nvshmem::UniqueId* id,
                                    Nvshmem::Attributes* attributes) {
    attributes->arguments.unique_id.id = const_cast<Nvshmem::UniqueId*>(id);
    attributes->arguments.unique_id.rank = rank;
    attributes->arguments.unique_id.ranks = ranks;
    return 0;
}

int nvshmemx_hostlib_init_attr(unsigned flags, Nvshmem::Attributes* attributes) {
    if (flags != Nvshmem::init_with_unique_id) return 2;
    if (!std::getenv("NVSHMEM_SYMMETRIC_SIZE") || !std::getenv("NVSHMEM_DISABLE_NVLS")) return 3;
    const auto& given = attributes->arguments.unique_id;
    me = given.rank;
    elements = given.ranks;
    const int opened = shm_open(given.id->content, O_RDWR, 0600);
    const std::size_t bytes = first_page + static_cast<std::size_t>(elements) * heap_bytes;
    if (opened < 0 || ftruncate(opened, static_cast<off_t>(bytes)) != 0) return 4;
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    close(opened);
    if (mapped == MAP_FAILED) return 5;
    file = static_cast<std::byte*>(mapped);
    barrier();
    if (me == 0) shm_unlink(given.id->content);
    return 0;
}

void nvshmemx_hostlib_finalize() {
    together(used);
    munmap(file, first_page + static_cast<std::size_t>(elements) * heap_bytes);
    file = nullptr;
    used = 0;
}

int nvshmem_my_pe() { return me; }

void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
    *major = 3;
    *minor = *patch = 0;
}

void* nvshmem_malloc(std::size_t bytes) {
    together(bytes);
    if (used + bytes > heap_bytes) return nullptr;
    void* const address = heap(me) + used;
    used += (bytes + 511) / 512 * 512;
    return address;
}

void nvshmem_free(void* address) {
    together(static_cast<std::size_t>(static_cast<std::byte*>(address) - heap(me)));
}

void* nvshmem_ptr(const void* address, int peer) {
    return const_cast<void*>(at_peer(address, peer));
}

void nvshmemx_signal_op_on_stream(std::uint64_t* signal, std::uint64_t value, int operation,
                                  int peer, void*) {
    if (operation != Nvshmem::signal_set) end("an operation that it does not know");
    std::atomic_ref(*at_peer(signal, peer)).store(value, std::memory_order_release);
}

void nvshmemx_putmem_signal_on_stream(void* to, const void* from, std::size_t bytes,
                                      std::uint64_t* signal, std::uint64_t value, int operation,
                                      int peer, void* stream) {
    if (bytes == 0) end("a put of nothing");
    std::memcpy(at_peer(static_cast<std::byte*>(to), peer), from, bytes);
    nvshmemx_signal_op_on_stream(signal, value, operation, peer, stream);
}

void nvshmemx_signal_wait_until_on_stream(std::uint64_t* signal, int comparison,
                                          std::uint64_t value, void*) {
    if (comparison != Nvshmem::compare_ge) end("a comparison that it does not know");
    for (int spins = 0; std::atomic_ref(*signal).load(std::memory_order_acquire) < value; ++spins)
        if (spins % 1024 == 1023) sched_yield();
}
}
