#include "transports/ccl/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "measure/clock.hpp"
#include "transports/ccl/channels.hpp"
#include "transports/ccl/log.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed::ccl {
namespace {

/// What the stand-in of tests has, and no real NCCL.
constexpr const char* takes_emulated = "takes_memory_of_emulated_gpus";

/// From here on NCCL takes several ranks on one GPU, or on slices of one, where this is set.
constexpr int takes_several = 23100;
constexpr const char* several = "NCCL_MULTI_RANK_GPU_ENABLE";

std::string remedy_of(int version) {
    const std::string set = std::string(several) + "=1";
    if (version >= takes_several)
        return ", and NCCL takes several only with " + set + ": export it";
    return ", and NCCL " + Nccl::version_text(version) +
           " wants one for each: 2.31 and later take " + "several with " + set +
           " (or --between, or fewer ranks)";
}

template <std::size_t size> void put(char (&to)[size], const std::string& text) {
    text.copy(to, size - 1);
}

}  // namespace

Communicator::Communicator(Context& context) : context_(context), page_(context.page) {
    went_on_ = take_kept();
    if (!went_on_) join();
}

/// False, and nothing is kept any more, unless all ranks have kept the same one and can use it.
bool Communicator::take_kept() {
    struct Offer {
        bool has, fits;
        Nccl::UniqueId id;
    };
    const Control& control = context_.control;
    const auto* const mine = dynamic_cast<const Joined*>(kept().get());
    const auto all = exchange(context_.control, [&]() -> Offer {
        if (!mine) return {};
        return {true, mine->fits(context_.device, control.rank(), control.size()), mine->id};
    });
    const auto every = [&](auto holds) { return std::all_of(all.begin(), all.end(), holds); };
    const bool same = every([&](const Offer& one) {
        return one.has && std::memcmp(&one.id, &all[0].id, sizeof one.id) == 0;
    });
    if (same && every([](const Offer& one) { return one.fits; })) {
        joined_.reset(static_cast<Joined*>(kept().release()));
        return true;
    }
    if (same) close_kept(page_);
    if (mine) kept().reset();
    return false;
}

void Communicator::join() {
    Control& control = context_.control;
    joined_ = std::make_unique<Joined>(context_.device, control.rank(), control.size());
    const auto all = exchange(control, [&] { return introduce(); });
    for (int rank = 1; rank < size(); ++rank) {
        const auto& mine = all[static_cast<std::size_t>(rank)];
        if (mine.version != all[0].version)
            throw Error("rank 0 has NCCL " + Nccl::version_text(all[0].version) + " and rank " +
                        std::to_string(rank) + " has " + Nccl::version_text(mine.version) +
                        ": install one version on all hosts");
        for (int other = 0; other < rank; ++other) {
            const auto& its = all[static_cast<std::size_t>(other)];
            const bool same_host = std::strcmp(mine.host, its.host) == 0;
            // Slices of a GPU have identities of their own, and NCCL takes them for one GPU.
            const bool refused = mine.version < takes_several || !mine.shares || !its.shares;
            if (refused && same_host &&
                (std::strcmp(mine.gpu, its.gpu) == 0 ||
                 (*mine.pci && std::strcmp(mine.pci, its.pci) == 0)))
                throw Unavailable("rank " + std::to_string(other) + " and rank " +
                                  std::to_string(rank) + " share one GPU, " + mine.name + " (" +
                                  mine.gpu + ") on " + mine.host + remedy_of(mine.version));
        }
    }
    joined_->id = all[0].unique_id;
    page_.enter(page_.name("ncclCommInitRank"));
    try {
        const auto seconds = exchange(control, [&] {
            context_.device.enter();
            const double begin = now();
            check(calls().init_rank(&joined_->handle, size(), joined_->id, rank()),
                  "ncclCommInitRank", std::to_string(size()) + " ranks");
            return now() - begin;
        });
        joined_->start_seconds = *std::max_element(seconds.begin(), seconds.end());
    } catch (...) {
        abort();  // of a constructor that throws, no destructor runs
        throw;
    }
    page_.leave();
}

Communicator::Introduction Communicator::introduce() {
    const Identity identity = context_.device.identity();
    if (identity.kind == "host")
        throw Unavailable("NCCL moves bytes between GPUs, and this rank uses none");
    Log& log = Log::open();
    joined_->log_begin = log.size();
    const Library library = Nccl::open(identity.kind);
    if (identity.kind == "emulated" && !library.find(takes_emulated))
        throw Unavailable("NCCL takes no emulated GPU");
    joined_->library = library.path();
    joined_->calls = std::make_unique<Nccl::Calls>(library);
    joined_->stream = context_.device.stream();
    constexpr std::size_t scratch = 512;
    joined_->scratch = Allocation(context_.device, Memory::device, scratch);

    Introduction mine{};
    char host[sizeof mine.host] = {};
    gethostname(host, sizeof host - 1);
    put(mine.host, host);
    put(mine.gpu, identity.id);
    put(mine.name, identity.name);
    put(mine.pci, identity.pci);
    page_.enter(page_.name("ncclGetUniqueId"));
    check(calls().get_version(&mine.version), "ncclGetVersion");
    joined_->version = mine.version;
    const char* const shares = std::getenv(several);
    mine.shares = shares && std::strcmp(shares, "1") == 0;
    if (rank() == 0) check(calls().get_unique_id(&mine.unique_id), "ncclGetUniqueId");
    return mine;
}

void Communicator::close() { joined_->close(page_); }

void Communicator::keep() {
    const auto spoilt = exchange(context_.control, [&] {
        try {
            joined_->check_meanwhile();
        } catch (const Error&) {
            // It is spoilt now, and its end is nobody's failure.
        }
        return joined_->spoilt || kept();
    });
    if (std::find(spoilt.begin(), spoilt.end(), true) != spoilt.end()) return close();
    kept() = std::move(joined_);
}

Communicator::~Communicator() { abort(); }

void Communicator::abort() noexcept {
    if (!joined_ || !joined_->handle) return;
    page_.enter(page_.name("ncclCommAbort"));
    joined_.reset();
    page_.leave();
}

std::string Communicator::describe() const {
    const Log& log = Log::open();
    // Of a start that another transport has waited for, this one has no time to tell.
    const std::string start = went_on_ ? "null" : std::to_string(joined_->start_seconds);
    std::string text = "\"version\": " + json_text(version()) +
                       ", \"library\": " + json_text(joined_->library) + ", \"start_s\": " + start +
                       ", \"settings\": {" + joined_->settings + "}, ";
    if (!log.lack().empty()) return text + "\"via\": " + json_text("unknown (" + log.lack() + ")");
    // The devices are numbered once in a process, by its first communicator.
    return text + as_json(channels_in(log.since(joined_->log_begin)), networks_in(log.since(0)));
}

}  // namespace wirespeed::ccl
