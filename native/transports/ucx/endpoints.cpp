#include "transports/ucx/endpoints.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/segment.hpp"

namespace wirespeed::ucx {
namespace {

constexpr Ucx::RequestParams plain{.mask = 0};

/// Every rank opens the library, or none goes on.
Library open_library(Context& context) {
    std::vector<Library> opened;
    exchange(context.control, [&] {
        opened.push_back(Ucx::open());
        return true;
    });
    return std::move(opened.front());
}

}  // namespace

std::vector<std::string> gather(Control& control, const std::string& mine) {
    const auto sizes = exchange(control, [&] { return mine.size(); });
    const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
    std::string padded = mine, all(most * sizes.size(), '\0');
    padded.resize(most);
    control.allgather(padded.data(), all.data(), most);
    std::vector<std::string> each;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
        each.push_back(all.substr(rank * most, sizes[rank]));
    return each;
}

Endpoints::Endpoints(Context& context, std::uint64_t features)
    : page_(context.page), device_(context.device), library_(open_library(context)),
      calls_(library_), flush_(page_.name("ucp_worker_flush_nbx")) {
    const auto here = same_host(context.control);
    const auto ranks_here = static_cast<std::size_t>(std::count(here.begin(), here.end(), true));
    page_.enter(page_.name("ucp_init"));
    std::string address;
    try {
        exchange(context.control, [&] {
            open(context.control, features, ranks_here);
            void* bytes = nullptr;
            std::size_t size = 0;
            check(calls_.get_address(worker_, &bytes, &size), "ucp_worker_get_address");
            address.assign(static_cast<const char*>(bytes), size);
            calls_.release_address(worker_, bytes);
            return true;
        });
        addresses_ = gather(context.control, address);
    } catch (...) {
        close();  // of a constructor that throws, no destructor runs
        throw;
    }
    page_.leave();
}

void Endpoints::open(Control& control, std::uint64_t features, std::size_t ranks_per_host) {
    device_.enter();  // UCX looks which GPU is current
    using Params = Ucx::ContextParams;
    const Params params{
        .mask = Params::has_features | Params::has_ranks | Params::has_ranks_per_host,
        .features = features,
        .ranks = static_cast<std::size_t>(control.size()),
        .ranks_per_host = ranks_per_host};
    check(calls_.init(Ucx::major, Ucx::minor, &params, nullptr, &context_), "ucp_init");
    Ucx::ContextAttributes found{.mask = Ucx::ContextAttributes::has_memory_types};
    check(calls_.query(context_, &found), "ucp_context_query");
    memory_types_ = found.memory_types;
    const Ucx::WorkerParams one{.mask = Ucx::WorkerParams::has_thread_mode,
                                .thread_mode = Ucx::WorkerParams::one_thread};
    check(calls_.worker_create(context_, &one, &worker_), "ucp_worker_create");
}

Endpoints::~Endpoints() {
    if (endpoints_.empty()) close();
}

void Endpoints::close() noexcept {
    if (worker_) calls_.worker_destroy(std::exchange(worker_, nullptr));
    if (context_) calls_.cleanup(std::exchange(context_, nullptr));
}

Ucx::MemoryType Endpoints::memory_type(Memory kind) const {
    if (on_host(kind)) return Ucx::host;
    const std::string device = device_.identity().kind;
    const bool managed = kind == Memory::managed;
    if (device != "cuda" && device != "hip")
        throw Unavailable("UCX knows no memory of " + device + " devices");
    const Ucx::MemoryType type = device == "hip" ? (managed ? Ucx::rocm_managed : Ucx::rocm)
                                                 : (managed ? Ucx::cuda_managed : Ucx::cuda);
    if (memory_types_ >> type & 1) return type;
    throw Unavailable("UCX " + std::string(calls_.version()) + " (" + file() + ") has no " +
                      (device == "hip" ? "ROCm: put one that has it"
                                       : "CUDA: put one that has it (pip install libucx-cu13)") +
                      " first on LD_LIBRARY_PATH");
}

void Endpoints::connect(const std::set<int>& peers) {
    for (const int peer : peers) {
        if (endpoints_.contains(peer)) continue;
        const Ucx::EndpointParams params{
            .mask = Ucx::EndpointParams::has_address,
            .address = addresses_.at(static_cast<std::size_t>(peer)).data()};
        Ucx::Endpoint made = nullptr;
        check(calls_.connect(worker_, &params, &made), "ucp_ep_create",
              "rank " + std::to_string(peer));
        endpoints_.emplace(peer, made);
    }
}

void Endpoints::finish(CallId call) {
    Ucx::Status status = Ucx::in_progress;
    for (const Pending& each : pending_) {
        page_.enter(call, each.peer);
        wait([&] { return (status = calls_.test(each.request)) != Ucx::in_progress; });
        calls_.free(each.request);
        if (status != Ucx::success) fail(status, each.call, each.bytes, each.peer);
    }
    pending_.clear();
}

void Endpoints::flush() {
    add(calls_.flush_worker(worker_, &plain), "ucp_worker_flush_nbx", 0, -1);
    finish(flush_);
}

void Endpoints::yield() { sched_yield(); }

void Endpoints::fail(Ucx::Status code, const char* call, std::size_t bytes, int peer) const {
    throw Error(call, std::to_string(bytes) + " bytes, peer " + std::to_string(peer),
                calls_.status_text(code));
}

void Endpoints::check(Ucx::Status code, const char* call, const std::string& arguments) const {
    if (code != Ucx::success) throw Error(call, arguments, calls_.status_text(code));
}

/// Of lines such as "lane[1]:  5:cma/memory.0 md[4] -> ...", which all versions print.
std::string Endpoints::transports() const {
    std::set<std::string> found;
    for (const auto& [peer, endpoint] : endpoints_) {
        char* text = nullptr;
        std::size_t size = 0;
        std::FILE* const file = open_memstream(&text, &size);
        calls_.print(endpoint, file);
        std::fclose(file);
        const std::string_view printed(text, size);
        for (auto at = printed.find(" lane["); at != printed.npos;
             at = printed.find(" lane[", at + 1)) {
            const auto begin = printed.find(':', printed.find("]:", at) + 2) + 1;
            found.emplace(printed.substr(begin, printed.find(' ', begin) - begin));
        }
        std::free(text);
    }
    std::string all;
    for (const auto& each : found) all += (all.empty() ? "" : ", ") + each;
    return all;
}

std::string Endpoints::file() const {
    Dl_info found{};
    dladdr(reinterpret_cast<const void*>(calls_.version), &found);
    return found.dli_fname ? found.dli_fname : library_.path();
}

std::string Endpoints::describe() const {
    return "\"version\": " + json_text(calls_.version()) + ", \"library\": " + json_text(file()) +
           ", \"transports\": " + json_text(transports());
}

}  // namespace wirespeed::ucx
