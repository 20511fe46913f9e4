#include "transports/local/start_board.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "core/error.hpp"
#include "core/shared_words.hpp"
#include "measure/clock.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

/// Nanoseconds after which a rank waits by the control, which notices when a peer has died.
constexpr std::int64_t patience = 100'000'000;
/// Nanoseconds in which all ranks see that the last one has come: a line goes to one after another.
constexpr std::int64_t least_margin = 2000, margin_of_a_rank = 100;

cpu_set_t own_cpus() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    return allowed;
}

bool is_crowded(const cpu_set_t& cpus, std::span<const cpu_set_t> allowed) {
    const auto inside = std::ranges::count_if(allowed, [&](const cpu_set_t& each) {
        cpu_set_t both;
        CPU_AND(&both, &each, &cpus);
        return CPU_COUNT(&each) && CPU_EQUAL(&both, &each);
    });
    return inside > CPU_COUNT(&cpus);
}

}  // namespace

bool is_crowded(std::span<const cpu_set_t> allowed) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const cpu_set_t& each : allowed) CPU_OR(&all, &all, &each);
    return is_crowded(all, allowed) || std::ranges::any_of(allowed, [&](const cpu_set_t& each) {
               return is_crowded(each, allowed);
           });
}

/// Zero at first. `phase` is 2 m while meeting number m waits for ranks, 2 m + 1 when one of them
/// has lost patience, and 2 m + 2 when `start` is that of meeting m.
struct StartBoard::SharedMoments {
    struct Left {
        std::atomic<std::uint32_t> sample;
        std::atomic<std::int64_t> moment;
    };
    struct alignas(cache_line) RankSlot {
        std::array<Left, 2> left;  ///< of the last two samples
    };
    alignas(cache_line) std::atomic<std::uint32_t> arrived;
    alignas(cache_line) std::atomic<std::uint32_t> phase;
    std::atomic<std::int64_t> start;

    RankSlot& rank(std::uint32_t number) { return reinterpret_cast<RankSlot*>(this + 1)[number]; }
    static std::size_t bytes(std::size_t ranks) {
        return sizeof(SharedMoments) + ranks * sizeof(RankSlot);
    }
};

StartBoard::StartBoard(Control& control, std::uint32_t first) : control_(control) {
    if (control.size() == 1) return;
    try {
        share(control, first);
    } catch (const Error& error) {
        segment_ = {};
        moments_ = nullptr;
        has_all_ranks_ = false;
        why_ = error.what();
    }
}

void StartBoard::share(Control& control, std::uint32_t first) {
    const HostRanks here = ranks_of_host(control);
    ranks_ = static_cast<std::uint32_t>(here.count);
    me_ = static_cast<std::uint32_t>(here.before);
    struct RankCpus {
        int host;
        cpu_set_t allowed;
    };
    std::vector<cpu_set_t> cpus;
    for (const RankCpus& rank : exchange(control, [&] { return RankCpus{here.first, own_cpus()}; }))
        if (rank.host == here.first) cpus.push_back(rank.allowed);
    segment_ = share_segment(control, here, SharedMoments::bytes(ranks_), [&](Segment& made) {
        auto* const moments = reinterpret_cast<SharedMoments*>(made.address());
        moments->arrived = first * ranks_;
        moments->phase = 2 * first;
    });
    moments_ = reinterpret_cast<SharedMoments*>(segment_.address());
    has_all_ranks_ = here.count == control.size();
    meeting_ = first;
    arrivals_ = first * ranks_;
    crowded_ = is_crowded(cpus);
    margin_ = least_margin + margin_of_a_rank * ranks_;
}

StartTimes StartBoard::meet() {
    arrive();
    const std::uint32_t released = 2 * meeting_ + 2;
    for (bool patient = false;; patient = true) {
        arrivals_ += ranks_;
        if (moments_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == arrivals_) {
            moments_->start.store(monotonic_ns() + margin_, std::memory_order_relaxed);
            std::uint32_t waiting = patient ? released - 1 : released - 2;
            moments_->phase.compare_exchange_strong(waiting, released, std::memory_order_release);
        }
        if (wait(released, patient)) break;
        // All ranks come here, the last one too: then none is far behind any more.
        control_.barrier();
    }
    ++meeting_;
    StartTimes start{moments_->start.load(std::memory_order_relaxed), 0};
    do {
        start.left = monotonic_ns();
    } while (start.left < start.agreed);
    return start;
}

/// False: a rank has lost patience, as all of them see.
bool StartBoard::wait(std::uint32_t released, bool patient) {
    std::int64_t until = 0;
    for (int spins = crowded_ ? spins_before_yield : 0;; ++spins) {
        std::uint32_t phase = moments_->phase.load(std::memory_order_acquire);
        // The next meeting may have begun already, and lost patience.
        if (static_cast<std::int32_t>(phase - released) >= 0) return true;
        if (phase == released - 1 && !patient) return false;
        if (spins < spins_before_yield) continue;
        spins = spins_before_yield;
        sched_yield();
        const std::int64_t time = monotonic_ns();
        if (!until) until = time + patience;
        if (!patient && time > until)
            moments_->phase.compare_exchange_strong(phase, released - 1, std::memory_order_relaxed);
    }
}

void StartBoard::record(std::shared_ptr<StartSkew> skew) {
    arrive();
    skew_ = std::move(skew);
}

void StartBoard::arrive() {
    const char* const by = std::exchange(by_, nullptr);
    if (by && skew_) {
        skew_->by = by;
        if (moments_ && ranks_ > 1) tell();
    }
    if (moments_) add_complete_samples();
}

void StartBoard::tell() {
    ++sample_;
    auto& left = moments_->rank(me_).left[sample_ % 2];
    left.moment.store(start_.left, std::memory_order_relaxed);
    left.sample.store(sample_, std::memory_order_release);
    if (me_ == 0) pending_samples_.push_back({sample_, start_.agreed, skew_});
    if (pending_samples_.size() > 2) pending_samples_.pop_front();
}

/// Between a sample and the second meeting after it, all ranks have told when they began it, and
/// none has begun the one whose moment takes its place.
void StartBoard::add_complete_samples() {
    while (!pending_samples_.empty()) {
        const PendingSample& sample = pending_samples_.front();
        std::int64_t first = INT64_MAX, last = 0;
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const auto& left = moments_->rank(rank).left[sample.number % 2];
            if (left.sample.load(std::memory_order_acquire) != sample.number) return;
            const std::int64_t moment = left.moment.load(std::memory_order_relaxed);
            first = std::min(first, moment);
            last = std::max(last, moment);
        }
        sample.skew->add(last - (sample.agreed ? sample.agreed : first));
        pending_samples_.pop_front();
    }
}

}  // namespace wirespeed
