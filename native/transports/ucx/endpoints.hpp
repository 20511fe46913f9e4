// UCX's context, worker and endpoints of this rank, and the requests that are under way.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libraries/ucx.hpp"
#include "transports/transport.hpp"

namespace wirespeed::ucx {

/// Bytes of any length from each rank, by rank. Every rank calls it.
std::vector<std::string> gather(Control& control, const std::string& mine);

class Endpoints {
  public:
    /// Every rank calls it; `features`: bits of Ucx::ContextParams. Throws Unavailable on every
    /// rank where one has no UCX.
    Endpoints(Context& context, std::uint64_t features);
    /// Where peers may still reach it, it stays until the process ends.
    ~Endpoints();
    Endpoints(const Endpoints&) = delete;
    Endpoints& operator=(const Endpoints&) = delete;

    const Ucx& calls() const { return calls_; }
    Ucx::Context context() const { return context_; }
    Ucx::Worker handle() const { return worker_; }
    /// What UCX calls memory of this kind. Throws Unavailable where it does not know such memory.
    Ucx::MemoryType memory_type(Memory kind) const;

    /// The orderly end: no peer may send anything any more.
    void close() noexcept;

    void connect(const std::set<int>& peers);
    Ucx::Endpoint to(int peer) const { return endpoints_.at(peer); }

    /// A call's result: an error is thrown, what is under way is kept for finish().
    void add(Ucx::Request request, const char* call, std::size_t bytes, int peer) {
        if (!request) return;
        if (const auto code = Ucx::error(request)) fail(code, call, bytes, peer);
        pending_.push_back({request, call, bytes, peer});
    }
    /// Until all requests are done. The status page says `call`.
    void finish(CallId call);
    /// Until `reached` says so.
    template <class Reached> void wait(Reached reached) {
        for (unsigned idle = 0; !reached();) {
            if (calls_.progress(worker_))
                idle = 0;
            else if (++idle > patience)
                yield();
        }
    }
    /// What this rank owes its peers for messages that have arrived here is on its way.
    void flush();

    void check(Ucx::Status code, const char* call, const std::string& arguments = {}) const;
    /// JSON members: version, library, and the transports to the peers connected to.
    std::string describe() const;

  private:
    struct Pending {
        Ucx::Request request;
        const char* call;
        std::size_t bytes;
        int peer;
    };
    /// Polls without a message before other processes get the CPU: some 50 us.
    static constexpr unsigned patience = 2'000;

    static void yield();
    [[noreturn]] void fail(Ucx::Status code, const char* call, std::size_t bytes, int peer) const;
    void open(Control& control, std::uint64_t features, std::size_t ranks_per_host);
    std::string file() const;
    std::string transports() const;

    Page& page_;
    Device& device_;
    Library library_;
    Ucx calls_;
    Ucx::Context context_ = nullptr;
    Ucx::Worker worker_ = nullptr;
    std::uint64_t memory_types_ = 0;
    std::vector<std::string> addresses_;
    std::map<int, Ucx::Endpoint> endpoints_;
    std::vector<Pending> pending_;
    CallId flush_;
};

}  // namespace wirespeed::ucx
