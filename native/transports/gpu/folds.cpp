#include "transports/gpu/folds.hpp"

#include <algorithm>
#include <array>

namespace wirespeed {
namespace {

constexpr std::array<std::uint64_t, 5> element_bytes = {4, 2, 2, 8, 4};

struct Range {
    std::uint64_t at, bytes;

    bool operator==(const Range&) const = default;
    bool overlaps(const Range& other) const {
        return bytes && other.bytes && at < other.at + other.bytes && other.at < at + bytes;
    }
    /// Do both have bytes in common, at other distances from their beginnings?
    bool crosses(const Range& other) const { return overlaps(other) && *this != other; }
};

/// One fold of a step, before it is known which of its sources are messages.
struct Fold {
    Range to;
    std::vector<Range> sources;
    std::uint32_t type, operation;
};

struct FoldedStep {
    std::vector<Range> sends, receives;
    std::vector<Fold> folds;
    std::uint32_t meanwhile = 0;  ///< of the folds
};

bool is_fold(const Work& work) {
    return work.kernel == "ws_elements_combine" && work.arguments.size() == 6 &&
           work.arguments[4] < element_bytes.size() && work.arguments[5] <= ws_first;
}

Fold fold_of(const Work& work) {
    const auto& [to, one, other, count, type, operation] =
        *reinterpret_cast<const std::array<std::uint64_t, 6>*>(work.arguments.data());
    const std::uint64_t bytes = count * element_bytes[type];
    Fold fold{{to, bytes},
              {{one, bytes}},
              static_cast<std::uint32_t>(type),
              static_cast<std::uint32_t>(operation)};
    if (operation != ws_first) fold.sources.push_back({other, bytes});
    return fold;
}

/// Adds to what the fold before has made, and to nothing that it is made of.
bool goes_on(const Fold& before, const Fold& next) {
    return before.operation != ws_first && next.operation == before.operation &&
           next.type == before.type && next.to == before.to && next.sources[0] == before.to &&
           !next.sources[1].overlaps(before.to);
}

void append(std::vector<Fold>& folds, std::span<const Work> works) {
    const std::size_t first = folds.size();
    for (const Work& work : works) {
        Fold fold = fold_of(work);
        if (fold.to.bytes == 0) continue;
        if (folds.size() > first && goes_on(folds.back(), fold))
            folds.back().sources.push_back(fold.sources[1]);
        else
            folds.push_back(std::move(fold));
    }
}

FoldedStep folded(const Step& step, const Buffers& buffers) {
    FoldedStep found;
    const auto place = [](const std::byte* buffer, const Transfer& transfer) {
        return Range{reinterpret_cast<std::uint64_t>(buffer + transfer.offset), transfer.bytes};
    };
    for (const auto& each : step.sends) found.sends.push_back(place(buffers.send, each));
    for (const auto& each : step.receives) found.receives.push_back(place(buffers.receive, each));
    append(found.folds, step.meanwhile);
    found.meanwhile = static_cast<std::uint32_t>(found.folds.size());
    append(found.folds, step.after);
    return found;
}

template <class Holds> std::size_t sources_that(const FoldedStep& step, Holds holds) {
    std::size_t count = 0;
    for (const Fold& fold : step.folds)
        count += static_cast<std::size_t>(std::ranges::count_if(fold.sources, holds));
    return count;
}

/// Which receive of its step is this source, and need not lie in memory? None: WS_IN_MEMORY.
std::uint32_t message_of(std::span<const FoldedStep> steps, const FoldedStep& step,
                         std::size_t number, const Range& source) {
    const auto found = std::ranges::find(step.receives, source);
    if (number < step.meanwhile || found == step.receives.end()) return WS_IN_MEMORY;
    const auto overlaps = [&](const Range& each) { return each.overlaps(source); };
    if (sources_that(step, overlaps) != 1) return WS_IN_MEMORY;
    for (std::size_t i = 0; i < number; ++i)
        if (overlaps(step.folds[i].to)) return WS_IN_MEMORY;
    const auto message = static_cast<std::uint32_t>(
        step.sends.size() + static_cast<std::size_t>(found - step.receives.begin()));
    if (step.folds[number].to == source) return message;
    for (const FoldedStep& other : steps) {
        if (std::ranges::any_of(other.sends, overlaps)) return WS_IN_MEMORY;
        // What another step has received itself is not this.
        const bool needed = sources_that(other, [&](const Range& each) {
            return overlaps(each) && !std::ranges::count(other.receives, each);
        });
        if (needed) return WS_IN_MEMORY;
    }
    return message;
}

/// Has another thread to do with what this fold writes, or writes what it reads (kernels/folds.h)?
bool needs_grid_barrier(std::span<const FoldedStep> steps, const FoldedStep& step,
                        const Fold& fold) {
    const auto crosses = [&](const Range& each) { return each.crosses(fold.to); };
    for (const FoldedStep& other : steps) {
        if (std::ranges::any_of(other.sends, crosses) || sources_that(other, crosses)) return true;
        for (const Fold& each : other.folds)
            if (crosses(each.to)) return true;
    }
    return std::ranges::any_of(step.receives, [&](const Range& receive) {
        return crosses(receive) || std::ranges::any_of(fold.sources, [&](const Range& each) {
                   return each.crosses(receive);
               });
    });
}

/// No step writes what it sends, and places overlap only where they are the same: each of their
/// bytes has one thread then.
bool may_pull(std::span<const FoldedStep> steps) {
    std::vector<Range> all;
    for (const FoldedStep& step : steps) {
        const auto is_sent = [&](const Range& each) {
            return std::ranges::any_of(step.sends,
                                       [&](const Range& send) { return send.overlaps(each); });
        };
        if (std::ranges::any_of(step.receives, is_sent)) return false;
        all.insert(all.end(), step.receives.begin(), step.receives.end());
        for (const Fold& fold : step.folds) {
            if (is_sent(fold.to)) return false;
            all.push_back(fold.to);
            all.insert(all.end(), fold.sources.begin(), fold.sources.end());
        }
    }
    return std::ranges::none_of(all, [&](const Range& one) {
        return std::ranges::any_of(all, [&](const Range& other) { return one.crosses(other); });
    });
}

}  // namespace

bool can_fold(std::span<const Step> steps) {
    return std::ranges::all_of(steps, [](const Step& step) {
        return std::ranges::all_of(step.after, is_fold) &&
               std::ranges::all_of(step.meanwhile, is_fold);
    });
}

FoldPlan folds_of(std::span<const Step> steps, const Buffers& buffers) {
    std::vector<FoldedStep> all;
    for (const Step& step : steps) all.push_back(folded(step, buffers));
    FoldPlan plan;
    plan.can_pull = may_pull(all);
    for (const FoldedStep& step : all) {
        WsFoldStep& counts = plan.steps.emplace_back();
        counts.meanwhile = step.meanwhile;
        counts.after = static_cast<std::uint32_t>(step.folds.size()) - step.meanwhile;
        for (std::size_t i = 0; i < step.folds.size(); ++i) {
            const Fold& fold = step.folds[i];
            plan.folds.push_back(
                {fold.to.at, fold.to.bytes, static_cast<std::uint32_t>(plan.sources.size()),
                 static_cast<std::uint32_t>(fold.sources.size()), fold.type, fold.operation});
            for (const Range& source : fold.sources)
                plan.sources.push_back({source.at, message_of(all, step, i, source), 0});
            if (needs_grid_barrier(all, step, fold)) counts.needs_grid_barrier = 1;
        }
    }
    return plan;
}

bool folds_touch(const Step& step, const Transfer& receive, const Buffers& buffers) {
    const Range place{reinterpret_cast<std::uint64_t>(buffers.receive + receive.offset),
                      receive.bytes};
    const auto touches = [&](const Work& work) {
        if (!is_fold(work)) return false;
        const Fold fold = fold_of(work);
        return place.overlaps(fold.to) || std::ranges::any_of(fold.sources, [&](const Range& each) {
                   return place.overlaps(each);
               });
    };
    return std::ranges::any_of(step.after, touches) || std::ranges::any_of(step.meanwhile, touches);
}

bool folds_write(const Step& step, const Transfer& send, const Buffers& buffers) {
    const Range place{reinterpret_cast<std::uint64_t>(buffers.send + send.offset), send.bytes};
    const auto writes = [&](const Work& work) {
        return is_fold(work) && place.overlaps(fold_of(work).to);
    };
    return std::ranges::any_of(step.after, writes) || std::ranges::any_of(step.meanwhile, writes);
}

}  // namespace wirespeed
