// OpenSHMEM on the host, from the Open MPI that the ranks run under: a put, a fence, and a word
// behind it, for which the receiver waits.
#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"
#include "libraries/oshmem.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/segment.hpp"
#include "transports/local/signalled.hpp"
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
    if (std::strcmp(mpi::world_abi(), mpi::OpenMpi::name) != 0)
        throw Unavailable("OpenSHMEM comes with Open MPI, and the ranks run under another MPI");
    const auto path = std::filesystem::path(mpi).parent_path() / "liboshmem.so.40";
    if (!std::filesystem::exists(path))
        throw Unavailable("this Open MPI was built without OpenSHMEM: no " + path.string());
    return Library("oshmem", {path.string()});
}

/// The process's only one: OpenSHMEM cannot be ended without ending MPI, nor started twice.
struct Session {
    Session() : library(open_library()), calls(library) {
        if (!calls.aborted)
            throw Unavailable("this Open MPI's OpenSHMEM would end MPI together with itself");
    }
    Library library;
    Oshmem calls;
    bool joined = false;
};

/// Memory for two buffers of the largest messages that anyone is likely to ask for, as long as all
/// ranks' heaps together fit into half of the host's memory. It is taken only when it is touched.
std::string heap_bytes(int ranks_here) {
    struct sysinfo host{};
    sysinfo(&host);
    const std::size_t memory = static_cast<std::size_t>(host.totalram) * host.mem_unit;
    return std::to_string(std::min<std::size_t>(std::size_t{9} << 30,
                                                memory / 2 / static_cast<unsigned>(ranks_here)));
}

void join(Session& session, Context& context) {
    const auto here = same_host(context.control);
    const auto ranks_here = static_cast<int>(std::count(here.begin(), here.end(), true));
    if (!session.joined) {
        // Open MPI 4 reads the longer name, the standard and Open MPI 5 the shorter one.
        for (const char* name : {"SHMEM_SYMMETRIC_HEAP_SIZE", "SHMEM_SYMMETRIC_SIZE"})
            setenv(name, heap_bytes(ranks_here).c_str(), 0);
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

Session& session_of(Context& context) {
    static std::unique_ptr<Session> only;
    exchange(context.control, [&] {
        if (!only) only = std::make_unique<Session>();
        return true;
    });
    join(*only, context);
    return *only;
}

class HostCalls {
  public:
    HostCalls(const Oshmem& calls, Page& page)
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

class OshmemTransport final : public Transport {
  public:
    explicit OshmemTransport(Context& context)
        : Transport(context), calls_(session_of(context).calls),
          words_(symmetric(Signals::bytes(context.control.size()))),
          signals_(words_, context.control.rank(), context.control.size()) {
        std::memset(words_, 0, Signals::bytes(context.control.size()));
        context.control.barrier();  // nobody signals before
    }

    void close() override { calls_.release(words_); }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        if (kind != Memory::pageable) throw Unavailable("OpenSHMEM's heap is pageable host memory");
        Buffers buffers;
        buffers.kind = kind;
        buffers.bytes = bytes;
        buffers.send = symmetric(bytes);
        try {
            buffers.receive = symmetric(bytes);
        } catch (...) {
            release(buffers);
            throw;
        }
        return buffers;
    }

    void release(Buffers& buffers) override {
        context_.page.enter(context_.page.name("shmem_free"));
        for (std::byte* const base : {buffers.send, buffers.receive})
            if (base) calls_.release(base);
        context_.page.leave();
        buffers = {};
    }
    void abandon(Buffers& buffers) noexcept override { buffers = {}; }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const auto theirs = peer_offsets(context_.control, steps);
        const bool ready_notice = has_overwrite_hazard(context_.control, steps, buffers);
        auto iterations = std::make_unique<SignalledIterations<HostCalls>>(
            HostCalls(calls_, context_.page), signals_, ready_notice);
        for (std::size_t i = 0; i < steps.size(); ++i)
            iterations->add(steps[i], theirs[i], buffers);
        return std::make_unique<DescribedProgram>(
            context_, std::move(iterations),
            std::string("\"ready_notice\": ") + (ready_notice ? "true" : "false"));
    }

    std::string describe() const override { return "\"library\": \"Open MPI's OpenSHMEM\""; }

  private:
    std::byte* symmetric(std::size_t bytes) {
        void* address = nullptr;
        context_.page.enter(context_.page.name("shmem_malloc"));
        exchange(context_.control, [&] {
            address = calls_.allocate(bytes);
            if (!address)
                throw Error("shmem_malloc", std::to_string(bytes) + " bytes",
                            "no room in the symmetric heap (SHMEM_SYMMETRIC_HEAP_SIZE sets its "
                            "size)");
            return true;
        });
        context_.page.leave();
        return static_cast<std::byte*>(address);
    }

    const Oshmem& calls_;
    std::byte* words_;
    Signals signals_;
};

const AddTransport add_oshmem{"oshmem", open_as<OshmemTransport>};

}  // namespace
}  // namespace wirespeed
