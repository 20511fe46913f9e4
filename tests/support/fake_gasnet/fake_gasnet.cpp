// For tests alone: gasnetex.h without a network. All segments lie in one file of /dev/shm. A put
// moves nothing before it is waited for, and a value nothing before it is or the next poll, by
// which the latest values arrive first: what relies on an earlier arrival or on an order fails
// here.
#include "gasnetex.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

constexpr std::size_t segment_bytes = std::size_t{160} << 20, first_page = 4096;

/// At the start of the file.
struct Shared {
    std::atomic<unsigned> joined, attached;
};
struct Put {
    void* to;
    const void* from;  ///< null: of a value
    std::size_t bytes;
    std::uint64_t value;

    void arrive() const {
        if (from)
            std::memcpy(to, from, bytes);
        else
            static_cast<std::atomic<std::uint64_t>*>(to)->store(value, std::memory_order_release);
    }
};

unsigned me = 0, ranks = 0;
std::byte* file = nullptr;
gex_Event_t latest = 0;
std::map<gex_Event_t, Put, std::greater<>> pending;

Shared& shared() { return *reinterpret_cast<Shared*>(file); }
void wait_for_all(std::atomic<unsigned>& counter) {
    while (counter.load() < ranks) sched_yield();
}
std::byte* open_file(const char* name) {
    const int descriptor = shm_open(name, O_RDWR | O_CREAT, 0600);
    const std::size_t bytes = first_page + ranks * segment_bytes;
    if (ftruncate(descriptor, static_cast<off_t>(bytes))) std::_Exit(70);
    void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return static_cast<std::byte*>(place);
}
/// Each rank sees its own segment at an address of its own, as with GASNet.
std::byte* owners_address(unsigned rank) {
    return reinterpret_cast<std::byte*>((std::uintptr_t{rank} + 1) << 40);
}
template <class T> T* mapped(unsigned rank, void* theirs) {
    const auto offset = static_cast<std::byte*>(theirs) - owners_address(rank);
    return reinterpret_cast<T*>(file + first_page + rank * segment_bytes + offset);
}

/// Never returns: it ends when all ranks have opened the file.
void run_master(const char* count) {
    ranks = static_cast<unsigned>(std::atoi(count));
    const std::string name = "/wirespeed-fake-gasnet-" + std::to_string(getpid());
    file = open_file(name.c_str());
    std::string command = std::getenv("GASNET_CSPAWN_CMD");
    const std::string worker = "/bin/sh -c \"env 'AMUDP_WORKER_ARGS=" + std::string(count) + "," +
                               name + ",' 'wirespeed'\"";
    command.replace(command.find("%C"), 2, worker);
    if (std::system(command.c_str())) std::_Exit(70);
    wait_for_all(shared().joined);
    shm_unlink(name.c_str());
    std::_Exit(0);
}

}  // namespace

int gex_Client_Init(gex_Client_t*, gex_EP_t*, gex_TM_t*, const char*, int* count, char*** words,
                    gex_Flags_t) {
    if (*count > 1) run_master((*words)[1]);
    const std::string told = std::getenv("AMUDP_WORKER_ARGS");
    const auto comma = told.find(',');
    ranks = static_cast<unsigned>(std::stoi(told));
    me = static_cast<unsigned>(std::atoi(std::getenv("GASNET_WORKER_RANK")));
    if (std::getenv("FAKE_GASNET_FAILS")) return 10003;
    file = open_file(told.substr(comma + 1, told.rfind(',') - comma - 1).c_str());
    shared().joined.fetch_add(1);
    wait_for_all(shared().joined);
    return 0;
}
int gex_Segment_Attach(gex_Segment_t*, gex_TM_t, uintptr_t bytes) {
    void* const at = mremap(file + first_page + me * segment_bytes, 0, bytes,
                            MREMAP_MAYMOVE | MREMAP_FIXED, owners_address(me));
    if (at == MAP_FAILED) return 10001;
    shared().attached.fetch_add(1);
    wait_for_all(shared().attached);
    return 0;
}
uintptr_t gasnet_getMaxLocalSegmentSize() { return segment_bytes; }
const char* gasnet_ErrorDesc(int) { return "Problem with requested resource"; }
gex_Rank_t gex_TM_QueryRank(gex_TM_t) { return me; }
gex_Rank_t gex_TM_QuerySize(gex_TM_t) { return ranks; }
gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t, gex_Rank_t rank, void** owners, void**,
                                       uintptr_t* bytes, gex_Flags_t) {
    *owners = owners_address(rank);
    *bytes = segment_bytes;
    return 0;
}
void gex_Event_Wait(gex_Event_t event) {
    const auto put = pending.find(event);
    if (put == pending.end()) return;
    put->second.arrive();
    pending.erase(put);
}
gex_Event_t gex_RMA_PutNB(gex_TM_t, gex_Rank_t rank, void* to, const void* from, size_t bytes,
                          gex_Event_t*, gex_Flags_t) {
    pending[++latest] = {mapped<void>(rank, to), from, bytes, 0};
    return latest;
}
gex_Event_t gex_RMA_PutNBVal(gex_TM_t, gex_Rank_t rank, void* to, gex_RMA_Value_t value, size_t,
                             gex_Flags_t) {
    pending[++latest] = {mapped<void>(rank, to), nullptr, 0, value};
    return latest;
}
int gasnet_AMPoll() {
    std::erase_if(pending, [](const auto& each) {
        if (!each.second.from) each.second.arrive();
        return !each.second.from;
    });
    return 0;
}
