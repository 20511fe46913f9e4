// For tests alone: a libnccl that moves bytes between processes through shared memory. It takes the
// emulated GPU's memory, at once; with a fake driver's stream (tests/native/fake_gpu.hpp) it works
// in the stream, as NCCL does.
//
// - Like NCCL it opens NCCL_DEBUG_FILE late, and names a connection there at its first use.
// - A message of no bytes is refused: NCCL may leave it out, so nobody may count on it.
// - Sizes that differ between a send and its receive end the process.
// - Environment: FAKE_NCCL_FAIL ("ncclSend=4"), FAKE_NCCL_BREAK_AFTER (so many groups; then no
//   message arrives any more, and only ncclCommGetAsyncError says so), NCCL_P2P_DISABLE,
//   FAKE_NCCL_VERSION_OF_RANK_1, FAKE_NCCL_INIT_FAILS_ON (that rank, once all have joined).
// - Buffers that are registered must lie in what ncclMemAlloc took from the fake driver, and are
//   freed after they are forgotten; a window is made by all ranks together, of the same size.
//   FAKE_NCCL_WANTS=registered or symmetric: collective operations take such buffers alone.
//   FAKE_NCCL_NO_WINDOWS: a window is none, as where GPUs cannot reach each other's memory.
// - With -DOLD it is NCCL 2.18, which has none of this.
// - fake_nccl_groups() and fake_nccl_communicators() tell how many groups this process has started
//   and how many communicators it has; fake_nccl_starts() how many it has had.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "emulated_memory.hpp"
#include "fake_nccl_memory.hpp"
#include "kernels/element_kernels.h"

namespace {

struct Transfer {
    Comm* comm;
    bool sends;
    int peer;
    char* at;
    std::size_t left, header_left;
    std::size_t header;
    void* stream;
};

long groups_started = 0, communicators = 0, starts = 0;
thread_local int depth = 0, group_error = 0;
thread_local std::vector<Transfer> group;

void log(const std::string& line) {
    const char *level = std::getenv("NCCL_DEBUG"), *name = std::getenv("NCCL_DEBUG_FILE");
    static FILE* const file = level && name ? std::fopen(name, "w") : level ? stdout : nullptr;
    if (!file) return;
    std::fprintf(file, "host:%d:%d [0] NCCL INFO %s\n", getpid(), getpid(), line.c_str());
    std::fflush(file);
}

/// Moves what it can of `bytes` through the channel.
std::size_t move(Channel& channel, bool sends, char* at, std::size_t bytes) {
    const std::size_t written = channel.written.load(std::memory_order_acquire);
    const std::size_t read = channel.read.load(std::memory_order_acquire);
    const std::size_t place = (sends ? written : read) % Channel::room;
    const std::size_t fit = sends ? Channel::room - (written - read) : written - read;
    const std::size_t now = std::min({bytes, fit, Channel::room - place});
    if (sends) {
        std::memcpy(channel.bytes + place, at, now);
        channel.written.store(written + now, std::memory_order_release);
    } else {
        std::memcpy(at, channel.bytes + place, now);
        channel.read.store(read + now, std::memory_order_release);
    }
    return now;
}

/// A step of one transfer: its size first, then its bytes.
bool advance(Transfer& transfer) {
    Comm& comm = *transfer.comm;
    Channel& channel = transfer.sends ? comm.channel(comm.rank, transfer.peer)
                                      : comm.channel(transfer.peer, comm.rank);
    bool moved = false;
    if (transfer.header_left) {
        char* const header = reinterpret_cast<char*>(&transfer.header) + sizeof transfer.header;
        const std::size_t now =
            move(channel, transfer.sends, header - transfer.header_left, transfer.header_left);
        transfer.header_left -= now;
        moved = now;
        if (transfer.header_left) return moved;
        if (!transfer.sends && transfer.header != transfer.left) {
            std::fprintf(stderr, "fake NCCL: %zu bytes were sent, %zu are received\n",
                         transfer.header, transfer.left);
            std::abort();
        }
    }
    const std::size_t now = move(channel, transfer.sends, transfer.at, transfer.left);
    transfer.at += now;
    transfer.left -= now;
    return moved || now;
}

/// All of them at once; those of one direction and peer in order.
void perform(std::vector<Transfer> transfers) {
    for (auto& each : transfers)
        if (!each.stream) each.at = static_cast<char*>(emulated_memory::view(each.at));
    while (!transfers.empty()) {
        bool moved = false;
        std::set<std::pair<bool, int>> busy;
        for (auto& each : transfers)
            if (busy.insert({each.sends, each.peer}).second) moved |= advance(each);
        transfers.erase(std::remove_if(transfers.begin(), transfers.end(),
                                       [](const Transfer& each) {
                                           return each.left == 0 && each.header_left == 0;
                                       }),
                        transfers.end());
        if (!moved) sched_yield();
    }
}

using HostFunction = int(void* stream, void (*)(void*), void* data);

HostFunction* host_function() {
    void* const call = driver_call("cuLaunchHostFunc", "hipLaunchHostFunc");
    if (!call) end("a stream, but no fake driver");
    return reinterpret_cast<HostFunction*>(call);
}

struct Lost {
    void* stream;
};
/// Work that never ends, as a kernel that waits for a peer that is gone.
void never(void* data) { host_function()(static_cast<Lost*>(data)->stream, never, data); }

/// What is put into a stream, or done at once where there is none; once it has been told to break,
/// nothing.
int put(Comm& comm, void* stream, std::function<void()> work) {
    ++groups_started;
    if (comm.groups++ >= number("FAKE_NCCL_BREAK_AFTER", 1L << 60)) {
        comm.asynchronous = 6;
        // Kept, since the stream never lets go of it.
        if (stream) return host_function()(stream, never, new Lost{stream});
        return 0;
    }
    if (!stream) {
        work();
        return 0;
    }
    // Kept, since a graph may do it again.
    auto* const kept = new std::function<void()>(std::move(work));
    return host_function()(
        stream, [](void* data) { (*static_cast<std::function<void()>*>(data))(); }, kept);
}

int enqueue(std::vector<Transfer> transfers) {
    if (transfers.empty()) return 0;
    Comm& comm = *transfers.front().comm;
    void* const stream = transfers.front().stream;
    return put(comm, stream, [=] { perform(transfers); });
}

int add(bool sends, char* at, std::size_t count, int type, int peer, Comm* comm, void* stream) {
    int code = fault(sends ? "ncclSend" : "ncclRecv");
    if (type > 1 || count == 0 || peer < 0 || peer >= comm->ranks) code = 4;
    if (code) return group_error = code;
    if (sends && comm->connected.insert({sends, peer}).second)
        for (const char* channel : {"00/1", "01/1"})
            log(std::string("Channel ") + channel + " : " + std::to_string(comm->rank) + "[0] -> " +
                std::to_string(peer) + "[1] via " +
                (number("NCCL_P2P_DISABLE", 0) ? "SHM/direct/direct" : "P2P/CUMEM/read"));
    group.push_back({comm, sends, peer, at, count, sizeof(std::size_t), count, stream});
    return depth ? 0 : enqueue(std::exchange(group, {}));
}

/// Sizes by ncclDataType_t.
std::size_t size_of(int type) {
    constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return sizes[type];
}

void reduce_into(char* to, const char* other, std::size_t count, int type, int op) {
    // ncclFloat32, ncclFloat16, ncclBfloat16, ncclFloat64, ncclInt32; ncclSum, ncclMax, ncclMin.
    constexpr int types[] = {7, 6, 9, 8, 2}, operations[] = {0, 2, 3};
    const auto kind = static_cast<u64>(std::find(types, types + 5, type) - types);
    const auto how = static_cast<u64>(std::find(operations, operations + 3, op) - operations);
    ws_with_type(kind, [&](auto element) {
        using Element = decltype(element);
        auto* const out = reinterpret_cast<Element*>(to);
        auto* const in = reinterpret_cast<const Element*>(other);
        for (std::size_t i = 0; i < count; ++i)
            ws_round(ws_combined(ws_number(out[i]), ws_number(in[i]), how), out[i]);
    });
}

/// All ranks get what all give, by messages; `then` makes the result of it.
using Everyone = std::vector<std::vector<char>>;
int together(const void* from, std::size_t bytes, Comm* comm, void* stream, const char* name,
             std::function<void(const Everyone&)> then) {
    if (const int code = fault(name)) return code;
    want_known(from, bytes);
    return put(*comm, stream, [=] {
        const char* const mine = static_cast<const char*>(
            stream ? from : emulated_memory::view(const_cast<void*>(from)));
        Everyone all(static_cast<std::size_t>(comm->ranks), std::vector<char>(bytes));
        std::vector<Transfer> transfers;
        for (int peer = 0; peer < comm->ranks; ++peer) {
            auto& into = all[static_cast<std::size_t>(peer)];
            if (peer == comm->rank) {
                std::copy_n(mine, bytes, into.begin());
                continue;
            }
            // Not device memory: taken as in a stream.
            transfers.push_back({comm, true, peer, all[static_cast<std::size_t>(comm->rank)].data(),
                                 bytes, sizeof(std::size_t), bytes, comm});
            transfers.push_back(
                {comm, false, peer, into.data(), bytes, sizeof(std::size_t), bytes, comm});
        }
        std::copy_n(mine, bytes, all[static_cast<std::size_t>(comm->rank)].begin());
        perform(transfers);
        then(all);
    });
}

char* place(void* to, void* stream) {
    return static_cast<char*>(stream ? to : emulated_memory::view(to));
}

/// Elements `first`, ... of all ranks, combined.
void combined(char* to, const Everyone& all, std::size_t first, std::size_t count, int type,
              int op) {
    std::copy_n(all[0].data() + first * size_of(type), count * size_of(type), to);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        reduce_into(to, all[rank].data() + first * size_of(type), count, type, op);
}

}  // namespace

extern "C" {

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, Comm* comm,
                  void* stream) {
    return together(
        from, count * size_of(type), comm, stream, "ncclAllReduce",
        [=](const Everyone& all) { combined(place(to, stream), all, 0, count, type, op); });
}
int ncclReduce(const void* from, void* to, std::size_t count, int type, int op, int root,
               Comm* comm, void* stream) {
    return together(from, count * size_of(type), comm, stream, "ncclReduce",
                    [=](const Everyone& all) {
                        if (comm->rank == root)
                            combined(place(to, stream), all, 0, count, type, op);
                    });
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int op, Comm* comm,
                      void* stream) {
    const std::size_t first = count * static_cast<std::size_t>(comm->rank);
    return together(from, count * size_of(type) * static_cast<std::size_t>(comm->ranks), comm,
                    stream, "ncclReduceScatter", [=](const Everyone& all) {
                        combined(place(to, stream), all, first, count, type, op);
                    });
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, Comm* comm,
                  void* stream) {
    const std::size_t bytes = count * size_of(type);
    return together(from, bytes, comm, stream, "ncclAllGather", [=](const Everyone& all) {
        for (std::size_t rank = 0; rank < all.size(); ++rank)
            std::copy_n(all[rank].data(), bytes, place(to, stream) + rank * bytes);
    });
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, Comm* comm,
                  void* stream) {
    const std::size_t bytes = count * size_of(type);
    return together(from, bytes, comm, stream, "ncclBroadcast", [=](const Everyone& all) {
        std::copy_n(all[static_cast<std::size_t>(root)].data(), bytes, place(to, stream));
    });
}

#ifndef OLD
int ncclAlltoAll(const void* from, void* to, std::size_t count, int type, Comm* comm,
                 void* stream) {
    const std::size_t bytes = count * size_of(type);
    const std::size_t first = bytes * static_cast<std::size_t>(comm->rank);
    return together(from, bytes * static_cast<std::size_t>(comm->ranks), comm, stream,
                    "ncclAlltoAll", [=](const Everyone& all) {
                        for (std::size_t rank = 0; rank < all.size(); ++rank)
                            std::copy_n(all[rank].data() + first, bytes,
                                        place(to, stream) + rank * bytes);
                    });
}

#endif

void takes_memory_of_emulated_gpus() {}

int ncclGetVersion(int* version) {
    const char* rank = std::getenv("PMI_RANK");
    if (!rank) rank = std::getenv("OMPI_COMM_WORLD_RANK");
#ifdef OLD
    *version = 21803;
#else
    *version = 22803;
#endif
    *version = static_cast<int>(number("FAKE_NCCL_VERSION", *version));
    if (rank && std::atoi(rank) == 1)
        *version = static_cast<int>(number("FAKE_NCCL_VERSION_OF_RANK_1", *version));
    return 0;
}

int ncclGetUniqueId(UniqueId* id) {
    if (const int code = fault("ncclGetUniqueId")) return code;
    static int count = 0;
    std::snprintf(id->name, sizeof id->name, "/fake-nccl-%d-%d", getpid(), count++);
    return 0;
}

int ncclCommInitRank(Comm** made, int ranks, UniqueId id, int rank) {
    if (const int code = fault("ncclCommInitRank")) return code;
    auto* const comm = new Comm{rank, ranks, 0, 0, nullptr, 0, {}};
    comm->mapped = sizeof(Shared) + sizeof(Channel) * static_cast<std::size_t>(ranks * ranks);
    const int file = shm_open(id.name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(comm->mapped)) != 0) return 2;
    comm->shared = static_cast<Shared*>(
        mmap(nullptr, comm->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    ++comm->shared->joined;
    while (comm->shared->joined < ranks) sched_yield();
    shm_unlink(id.name);
    if (number("FAKE_NCCL_INIT_FAILS_ON", -1) == rank) return 4;
    ++communicators;
    ++starts;
    log("ncclCommInitRank comm 0x1 rank " + std::to_string(rank) + " - Init COMPLETE");
    *made = comm;
    return 0;
}

long fake_nccl_groups() { return groups_started; }
long fake_nccl_communicators() { return communicators; }
long fake_nccl_starts() { return starts; }

int ncclCommDestroy(Comm* comm) {
    if (const int code = fault("ncclCommDestroy")) return code;
    if (!registered.empty()) end("a communicator ends before its buffers");
    --communicators;
    munmap(comm->shared, comm->mapped);
    delete comm;
    return 0;
}
int ncclCommAbort(Comm* comm) {
    registered.clear();
    return ncclCommDestroy(comm);
}

int ncclCommGetAsyncError(Comm* comm, int* error) {
    *error = comm->asynchronous;
    return 0;
}

int ncclSend(const void* from, std::size_t count, int type, int peer, Comm* comm, void* stream) {
    return add(true, static_cast<char*>(const_cast<void*>(from)), count, type, peer, comm, stream);
}
int ncclRecv(void* to, std::size_t count, int type, int peer, Comm* comm, void* stream) {
    return add(false, static_cast<char*>(to), count, type, peer, comm, stream);
}
int ncclGroupStart() {
    ++depth;
    return 0;
}
int ncclGroupEnd() {
    if (--depth) return 0;
    // Of a group with an error nothing is done.
    std::vector<Transfer> transfers = std::exchange(group, {});
    if (const int code = std::exchange(group_error, 0)) return code;
    if (const int code = fault("ncclGroupEnd")) return code;
    return enqueue(std::move(transfers));
}

const char* ncclGetErrorString(int code) {
    return code == 6 ? "remote process exited or there was a network error" : "made to fail";
}
const char* ncclGetLastError(Comm*) { return "says the stand-in"; }
}
