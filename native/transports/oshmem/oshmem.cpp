// OpenSHMEM on the host, from the Open MPI that the ranks run under: a put, a fence, and a word
// behind it, for which the receiver waits.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"
#include "libraries/oshmem.hpp"
#include "transports/local/segment.hpp"
#include "transports/local/symmetric_heap.hpp"
#include "transports/mpi/world.hpp"

namespace wirespeed {
namespace {

/// shmem_init takes over signals, SIGTERM among them; they are this process's own again afterwards.
class KeepSignals {
  public:
    KeepSignals() {
        for (int number = 1; number < count; ++number) sigaction(number, nullptr, at(number));
    }
    ~KeepSignals() {
        for (int number = 1; number < count; ++number) sigaction(number, at(number), nullptr);
    }
    KeepSignals(const KeepSignals&) = delete;
    KeepSignals& operator=(const KeepSignals&) = delete;

  private:
    static constexpr int count = 32;
    struct sigaction* at(int number) { return &before_[static_cast<std::size_t>(number)]; }
    std::array<struct sigaction, count> before_{};
};

/// The library beside the libmpi in use: another one would bring its own MPI into the process.
Library open_library() {
    const std::string mpi =
        std::visit([](auto& world) { return world.library.path(); }, mpi::world());
    if (std::strcmp(mpi::world_abi(), mpi::OpenMpiAbi::name) != 0)
        throw Unavailable("OpenSHMEM comes with Open MPI, and the ranks run under another MPI");
    const auto path = std::filesystem::path(mpi).parent_path() / "liboshmem.so.40";
    if (!std::filesystem::exists(path))
        throw Unavailable("this Open MPI was built without OpenSHMEM: no " + path.string());
    return Library("oshmem", {path.string()});
}

/// The process's only one: OpenSHMEM cannot be ended without ending MPI, nor started twice.
struct OshmemSession {
    OshmemSession() : library(open_library()), calls(library) {
        if (!calls.aborted)
            throw Unavailable("this Open MPI's OpenSHMEM would end MPI together with itself");
    }
    Library library;
    Oshmem calls;
    bool joined = false;
};

void join(OshmemSession& session, Context& context) {
    const auto here = same_host(context.control);
    const auto ranks_here = std::count(here.begin(), here.end(), true);
    if (!session.joined) {
        const auto bytes = std::to_string(host_heap_bytes(static_cast<std::size_t>(ranks_here)));
        // Open MPI 4 reads the longer name, the standard and Open MPI 5 the shorter one.
        for (const char* name : {"SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"})
            setenv(name, bytes.c_str(), 0);
        context.page.enter(context.page.name("shmem_init"));
        const KeepSignals keep;
        session.calls.init();
        // Whoever ends MPI itself must keep OpenSHMEM from trying to at the process's exit.
        *session.calls.aborted = true;
        session.joined = true;
        context.page.leave();
    }
    exchange(context.control, [&] {
        if (session.calls.rank() != context.control.rank() ||
            session.calls.ranks() != context.control.size())
            throw Error("OpenSHMEM counts the ranks in another way than MPI");
        return true;
    });
}

OshmemSession& session_of(Context& context) {
    static std::unique_ptr<OshmemSession> only;
    exchange(context.control, [&] {
        if (!only) only = std::make_unique<OshmemSession>();
        return true;
    });
    join(*only, context);
    return *only;
}

class OshmemCalls {
  public:
    OshmemCalls(const Oshmem& calls, Page& page)
        : calls_(calls), page_(page), put_(page.name("shmem_putmem")),
          fence_(page.name("shmem_fence")), set_(page.name("shmem_uint64_p")),
          wait_(page.name("shmem_uint64_wait_until")), quiet_(page.name("shmem_quiet")) {}

    void put(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t* word,
             std::uint64_t value, int peer) {
        page_.enter(put_, peer);
        calls_.put(to, from, bytes, peer);
        signal(word, value, peer);
    }
    void signal(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(fence_, peer);
        calls_.fence();
        page_.enter(set_, peer);
        calls_.set(word, value, peer);
    }
    void wait(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(wait_, peer);
        calls_.wait_until(word, Oshmem::compare_ge, value);
    }
    void finish(int peer) {
        page_.enter(quiet_, peer);
        calls_.quiet();
    }

  private:
    const Oshmem& calls_;
    Page& page_;
    CallId put_, fence_, set_, wait_, quiet_;
};

class OshmemHeap {
  public:
    explicit OshmemHeap(Context& context) : calls_(session_of(context).calls) {}
    void close() {}
    void* allocate(std::size_t bytes) { return calls_.allocate(bytes); }
    void release(void* address) { calls_.release(address); }

    using Calls = OshmemCalls;
    Calls puts(Context& context) const { return {calls_, context.page}; }
    std::string describe() const { return "\"library\": \"Open MPI's OpenSHMEM\""; }

    static constexpr Memory memory = Memory::pageable;
    static constexpr const char* only = "OpenSHMEM's heap is pageable host memory";
    static constexpr const char *allocate_name = "shmem_malloc", *release_name = "shmem_free";
    static constexpr const char* no_room =
        "no room in the symmetric heap (SHMEM_SYMMETRIC_HEAP_SIZE sets its size)";

  private:
    const Oshmem& calls_;
};

const AddTransport add_oshmem{"oshmem", open_as<SymmetricTransport<OshmemHeap>>};

}  // namespace
}  // namespace wirespeed
