#include "transports/ccl/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "measure/clock.hpp"
#include "transports/ccl/channels.hpp"
#include "transports/ccl/log.hpp"
#include "transports/local/exchange.hpp"

extern char** environ;

namespace wirespeed::ccl {
namespace {

/// What the stand-in of tests has, and no real NCCL.
constexpr const char* takes_emulated = "takes_memory_of_emulated_gpus";

template <std::size_t size> void put(char (&to)[size], const std::string& text) {
    text.copy(to, size - 1);
}

/// The user's own settings of NCCL, as JSON members.
std::string settings() {
    std::string found;
    for (char** each = environ; *each; ++each) {
        const std::string_view word = *each;
        const auto equals = word.find('=');
        if (equals == std::string_view::npos || word.substr(0, 10) == "NCCL_DEBUG") continue;
        if (word.substr(0, 5) != "NCCL_" && word.substr(0, 5) != "RCCL_") continue;
        if (!found.empty()) found += ", ";
        found += quoted(word.substr(0, equals)) + ": " + quoted(word.substr(equals + 1));
    }
    return found;
}

}  // namespace

Communicator::Communicator(Context& context)
    : page_(context.page), rank_(context.control.rank()), size_(context.control.size()) {
    const auto all = exchange(context.control, [&] { return introduce(context); });
    for (int rank = 1; rank < size_; ++rank) {
        const auto& mine = all[static_cast<std::size_t>(rank)];
        if (mine.version != all[0].version)
            throw Error("rank 0 has NCCL " + Nccl::version_text(all[0].version) + " and rank " +
                        std::to_string(rank) + " has " + Nccl::version_text(mine.version) +
                        ": install one version on all hosts");
        for (int other = 0; other < rank; ++other) {
            const auto& its = all[static_cast<std::size_t>(other)];
            const bool same_host = std::strcmp(mine.host, its.host) == 0;
            // Slices of a GPU have identities of their own, and NCCL takes them for one GPU.
            if (same_host && (std::strcmp(mine.gpu, its.gpu) == 0 ||
                              (*mine.pci && std::strcmp(mine.pci, its.pci) == 0)))
                throw Unavailable("rank " + std::to_string(other) + " and rank " +
                                  std::to_string(rank) + " share one GPU, " + mine.name + " (" +
                                  mine.gpu + ") on " + mine.host +
                                  ", and NCCL wants one for each (--between, or fewer ranks)");
        }
    }
    page_.enter(page_.name("ncclCommInitRank"));
    try {
        const auto seconds = exchange(context.control, [&] {
            context.device.enter();
            const double begin = now();
            check(calls_->init_rank(&handle_, size_, all[0].unique_id, rank_), "ncclCommInitRank",
                  std::to_string(size_) + " ranks");
            return now() - begin;
        });
        start_seconds_ = *std::max_element(seconds.begin(), seconds.end());
    } catch (...) {
        abort();  // of a constructor that throws, no destructor runs
        throw;
    }
    page_.leave();
}

Communicator::Introduction Communicator::introduce(Context& context) {
    const Identity identity = context.device.identity();
    if (identity.kind == "host")
        throw Unavailable("NCCL moves bytes between GPUs, and this rank uses none");
    Log& log = Log::open();
    log_begin_ = log.size();
    const Library library = Nccl::open(identity.kind);
    if (identity.kind == "emulated" && !library.find(takes_emulated))
        throw Unavailable("NCCL takes no emulated GPU");
    library_ = library.path();
    variables_ = settings();
    calls_ = std::make_unique<Nccl::Calls>(library);
    stream_ = context.device.stream();
    constexpr std::size_t scratch = 512;
    scratch_ = Allocation(context.device, Memory::device, scratch);

    Introduction mine{};
    char host[sizeof mine.host] = {};
    gethostname(host, sizeof host - 1);
    put(mine.host, host);
    put(mine.gpu, identity.id);
    put(mine.name, identity.name);
    put(mine.pci, identity.pci);
    page_.enter(page_.name("ncclGetUniqueId"));
    check(calls_->get_version(&mine.version), "ncclGetVersion");
    version_ = mine.version;
    if (rank_ == 0) check(calls_->get_unique_id(&mine.unique_id), "ncclGetUniqueId");
    return mine;
}

void Communicator::close() {
    page_.enter(page_.name("ncclCommDestroy"));
    check(calls_->destroy(std::exchange(handle_, nullptr)), "ncclCommDestroy");
    page_.leave();
}

Communicator::~Communicator() { abort(); }

void Communicator::abort() noexcept {
    if (!handle_) return;
    page_.enter(page_.name("ncclCommAbort"));
    calls_->abort(std::exchange(handle_, nullptr));
    page_.leave();
}

void Communicator::check_meanwhile() {
    Nccl::Result met = Nccl::success;
    check(calls_->async_error(handle_, &met), "ncclCommGetAsyncError");
    if (met != Nccl::in_progress) check(met, "ncclCommGetAsyncError");
}

void Communicator::fail(Nccl::Result code, const char* call, std::string_view arguments) {
    throw Error(call, arguments, Nccl::text(*calls_, code, handle_));
}

std::string Communicator::describe() const {
    const Log& log = Log::open();
    std::string text = "\"version\": " + quoted(version()) + ", \"library\": " + quoted(library_) +
                       ", \"start_s\": " + std::to_string(start_seconds_) + ", \"settings\": {" +
                       variables_ + "}, ";
    if (!log.lack().empty()) return text + "\"via\": " + quoted("unknown (" + log.lack() + ")");
    // The devices are numbered once in a process, by its first communicator.
    return text + as_json(channels_in(log.since(log_begin_)), networks_in(log.since(0)));
}

}  // namespace wirespeed::ccl
