#include "transports/gpu/folds.hpp"

#include <algorithm>
#include <array>
#include <set>

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
        if (!is_fold(work)) continue;
        Fold fold = fold_of(work);
        if (fold.to.bytes == 0) continue;
        if (folds.size() > first && goes_on(folds.back(), fold))
            folds.back().sources.push_back(fold.sources[1]);
        else
            folds.push_back(std::move(fold));
    }
}

Range place_of(const std::byte* buffer, const Transfer& transfer) {
    return {reinterpret_cast<std::uint64_t>(buffer + transfer.offset), transfer.bytes};
}

FoldedStep folded(const Step& step, const Buffers& buffers) {
    FoldedStep found;
    for (const auto& each : step.sends) found.sends.push_back(place_of(buffers.send, each));
    for (const auto& each : step.receives)
        found.receives.push_back(place_of(buffers.receive, each));
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

bool are_apart_or_the_same(std::span<const Range> all) {
    return std::ranges::none_of(all, [&](const Range& each) {
        return std::ranges::any_of(all, [&](const Range& other) { return each.crosses(other); });
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
    return are_apart_or_the_same(all);
}

/// Are all messages long, and has a thread the same 16 bytes of a place in all steps, on both
/// sides?
bool have_own_shares(std::span<const FoldedStep> steps, const FoldPlan& plan,
                     const OpList& op_list) {
    std::vector<Range> all;
    for (const FoldedStep& step : steps) {
        all.insert(all.end(), step.sends.begin(), step.sends.end());
        all.insert(all.end(), step.receives.begin(), step.receives.end());
    }
    for (const WsFold& each : plan.folds) all.push_back({each.to, each.bytes});
    for (const WsFold& each : plan.folds)
        for (u32 i = 0; i < each.sources; ++i)
            all.push_back({plan.sources[each.first + i].place, each.bytes});
    return plan.in_shares && steps.size() > 1 && are_apart_or_the_same(all) &&
           std::ranges::all_of(
               op_list.ops, [](const OpList::Op& each) { return each.op.bytes > WS_SHORT_SEND; });
}

FoldPlan plan_of(std::span<const FoldedStep> all) {
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

/// A message that folds take out of its slot is not received otherwise.
void mark_messages(const FoldPlan& plan, OpList& op_list) {
    std::size_t op = 0, fold = 0;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        const std::size_t next = fold + plan.steps[s].meanwhile + plan.steps[s].after;
        for (; fold < next; ++fold)
            for (u32 i = 0; i < plan.folds[fold].sources; ++i)
                if (const u32 message = plan.sources[plan.folds[fold].first + i].message;
                    message != WS_IN_MEMORY)
                    op_list.ops[op + message].op.work = ws_fold_work;
        op += op_list.steps[s].sends + op_list.steps[s].receives;
    }
}

bool writes(const FoldedStep& step, const Range& place) {
    return std::ranges::any_of(step.folds,
                               [&](const Fold& fold) { return fold.to.overlaps(place); });
}

bool touches(const FoldedStep& step, const Range& place) {
    return writes(step, place) ||
           sources_that(step, [&](const Range& each) { return each.overlaps(place); }) > 0;
}

/// A step that sends what the last fold of the one before has made, and that alone, makes it on its
/// way: one pass over memory less, while the link waits for nothing.
void make_on_the_way(std::span<const FoldedStep> all, FoldPlan& plan, OpList& op_list) {
    std::size_t op = 0, folds = 0;
    for (std::size_t s = 0; s + 1 < all.size(); ++s) {
        const FoldedStep &step = all[s], &next = all[s + 1];
        op += step.sends.size() + step.receives.size();
        folds += step.folds.size();
        if (step.folds.size() == step.meanwhile || plan.steps[s].needs_grid_barrier ||
            next.sends.size() != 1 || next.sends[0] != step.folds.back().to)
            continue;
        const Fold& fold = step.folds.back();
        const auto comes = [&](const Range& place) {
            return std::ranges::any_of(next.receives,
                                       [&](const Range& each) { return each.overlaps(place); });
        };
        if (comes(fold.to) || std::ranges::any_of(fold.sources, comes)) continue;
        plan.steps[s].sent = 1;
        op_list.ops[op].op.work = ws_made_work;
        op_list.ops[op].op.operand = folds - 1;
    }
}

/// With so many peers these steps and folds are what kernels/exchange.h does; 0: they are not.
std::uint32_t exchange_peers(const OpList& op_list, const FoldPlan& plan) {
    if (op_list.ops.empty() || !plan.in_words || op_list.steps.size() > WS_EXCHANGE_STEPS) return 0;
    const u64 bytes = op_list.ops[0].op.bytes;
    const std::size_t peers = op_list.steps[0].sends;
    if (!bytes || !peers || peers > WS_EXCHANGE_PEERS ||
        op_list.ops.size() != op_list.steps.size() * 2 * peers)
        return 0;
    std::vector<u64> places;
    for (std::size_t i = 0; i < op_list.ops.size(); ++i) {
        const auto& [peer, sends, op] = op_list.ops[i];
        if (op.bytes != bytes || sends != (i / peers % 2 == 0) ||
            peer != op_list.ops[i % peers].peer)
            return 0;
        if (op.work != ws_fold_work) places.push_back(op.mine);
    }
    std::set<int> all;
    for (std::size_t i = 0; i < peers; ++i) all.insert(op_list.ops[i].peer);
    if (all.size() != peers) return 0;
    for (std::size_t s = 0, fold = 0; s < op_list.steps.size(); ++s) {
        const WsStep& step = op_list.steps[s];
        if (step.sends != peers || step.receives != peers) return 0;
        const auto received = std::span(op_list.ops).subspan((2 * s + 1) * peers, peers);
        const auto messages = static_cast<std::size_t>(std::ranges::count_if(
            received, [](const OpList::Op& each) { return each.op.work == ws_fold_work; }));
        // Until all lanes have sent, what they send may not be written.
        const auto is_sent = [&](u64 place) {
            return std::ranges::count(std::span(op_list.ops).subspan(2 * s * peers, peers), place,
                                      [](const OpList::Op& each) { return each.op.mine; });
        };
        for (const OpList::Op& each : received)
            if (messages == 0 && is_sent(each.op.mine)) return 0;
        const u32 count = plan.steps[s].meanwhile + plan.steps[s].after;
        if (count == 0 && messages == 0) continue;
        const WsFold& made = plan.folds[fold++];
        if (count != 1 || made.bytes != bytes) return 0;
        const bool copies = made.sources == 1 && messages == 0 && plan.steps[s].meanwhile == 1;
        if (copies ? is_sent(made.to) : messages != peers || made.sources > peers + 1) return 0;
        places.push_back(made.to);
        for (u32 i = 0; i < made.sources; ++i)
            if (const WsSource& source = plan.sources[made.first + i];
                source.message == WS_IN_MEMORY)
                places.push_back(source.place);
    }
    // What a block writes, it alone reads.
    const bool crosses = std::ranges::any_of(places, [&](u64 place) {
        return std::ranges::any_of(
            places, [&](u64 other) { return place < other && other < place + bytes; });
    });
    return crosses ? 0 : static_cast<std::uint32_t>(peers);
}

}  // namespace

bool can_fold(std::span<const Step> steps) {
    return std::ranges::all_of(steps, [](const Step& step) {
        return std::ranges::all_of(step.after, is_fold) &&
               std::ranges::all_of(step.meanwhile, is_fold) &&
               std::ranges::none_of(step.sends, &Transfer::list);
    });
}

FoldPlan fold_plan(std::span<const Step> steps, const Buffers& buffers, u64 most_threads,
                   OpList& op_list) {
    std::vector<FoldedStep> all;
    for (const Step& step : steps) {
        const FoldedStep& last = all.emplace_back(folded(step, buffers));
        // Any lane may then not have any part of the messages.
        WsStep& counts = op_list.steps[all.size() - 1];
        for (const Range& each : last.sends)
            if (writes(last, each)) counts.sends_alike = 0;
        for (const Range& each : last.receives)
            if (touches(last, each)) counts.receives_alike = 0;
    }
    FoldPlan plan = plan_of(all);
    mark_messages(plan, op_list);
    // What is less than 16 bytes is the first block's if it has a lane for each byte.
    const u64 ends = most_threads < 16 ? ~u64{0} : 0;
    u64 bits = 0;
    for (const OpList::Op& each : op_list.ops)
        bits |= each.op.mine | each.op.theirs | (each.op.bytes & ends);
    for (const WsFold& each : plan.folds) bits |= each.to | (each.bytes & ends);
    for (const WsSource& each : plan.sources) bits |= each.place;
    plan.in_shares = bits % 16 == 0;
    plan.in_words = bits % sizeof(u32) == 0;
    plan.exchange_peers = exchange_peers(op_list, plan);
    make_on_the_way(all, plan, op_list);
    plan.own_shares = have_own_shares(all, plan, op_list);
    return plan;
}

bool folds_touch(const Step& step, const Transfer& receive, const Buffers& buffers) {
    return touches(folded(step, buffers), place_of(buffers.receive, receive));
}

}  // namespace wirespeed
