#include "transports/gpu/plan.hpp"

#include <algorithm>
#include <array>

#include "kernels/soak_types.h"
#include "transports/local/exchange.hpp"
#include "transports/local/soak_turn.hpp"

namespace wirespeed {
namespace {

/// Every rank calls it: each of these holds where it holds on all ranks.
template <class... Claims> void on_every_rank(Control& control, Claims&... claims) {
    for (const auto& theirs : exchange(control, [&] { return std::array{claims...}; })) {
        std::size_t i = 0;
        ((claims = theirs[i++] && claims), ...);
    }
}

std::string name_of(WsProtocol protocol) {
    static constexpr const char* names[] = {"ll", "stores", "tma", "pull", "tma_pull"};
    return names[protocol];
}

/// The kernels for any steps; `words`: the variant of LL for whole words.
KernelChoice launch_any(const Tuning& tuning, const OpList& op_list, const char* words) {
    const bool by_words = tuning.protocol == ws_ll && op_list.on_whole_words();
    return {"ws_any_" + name_of(tuning.protocol) + (by_words ? words : ""), tuning.threads};
}

/// One send and one receive: the commonest program has kernels of its own.
bool is_pair(const OpList& op_list) {
    const auto& [steps, ops] = std::tie(op_list.steps, op_list.ops);
    if (!std::holds_alternative<MessagePlan>(op_list.plan) || op_list.guarded || op_list.lists ||
        ops.size() != 2 || ops[0].sends == ops[1].sends || !op_list.on_whole_words())
        return false;
    // A step without transfers before them would be taken for the first.
    return steps.size() == 1 || (steps.size() == 2 && steps[0].sends + steps[0].receives == 1);
}

/// A soak of such a program: its messages lie, iteration by iteration, in places as far from each
/// other.
bool is_soak_pair(const OpList& op_list) {
    const auto& [steps, ops] = std::tie(op_list.steps, op_list.ops);
    if (op_list.guarded || ops.size() != 2 * ws_soak_places || ops[0].sends == ops[1].sends ||
        steps.size() % ws_soak_places || steps.size() > ops.size())
        return false;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const auto &first = ops[i % 2], &each = ops[i];
        const u64 apart = ops[i % 2 + 2].op.mine - first.op.mine;
        if (each.sends != first.sends || each.peer != ops[0].peer || !each.op.bytes ||
            each.op.bytes != ops[0].op.bytes || each.op.mine != first.op.mine + i / 2 * apart ||
            (each.op.bytes | each.op.mine) % sizeof(u64))
            return false;
    }
    const u32 moves = static_cast<u32>(ops.size() / steps.size());
    return std::ranges::all_of(
        steps, [&](const WsStep& each) { return each.sends + each.receives == moves; });
}

}  // namespace

std::string Tuning::text() const {
    static constexpr const char* names[] = {"LL", "stores", "TMA", "pull", "TMA-pull"};
    return names[protocol];
}

bool Choices::allow(const Tuning& tuning) const {
    const auto& [protocol, blocks, threads, _] = tuning;
    if (protocol == ws_ll)
        return ll && (exchange_peers ? threads >= exchange_peers && threads <= WS_EXCHANGE_LANES
                                     : blocks == 1);
    return (protocol == ws_stores ? stores
            : protocol == ws_pull ? pull
                                  : tma) &&
           blocks <= most_blocks;
}

std::optional<Tuning> Choices::nearest(Tuning tuning) const {
    if (tuning.protocol != ws_ll) tuning.blocks = std::min(tuning.blocks, most_blocks);
    return allow(tuning) ? std::optional(tuning) : std::nullopt;
}

void MessagePlan::agree(Control& control, OpList&) { on_every_rank(control, in_turn); }

/// A message that may overwrite what is in use takes a protocol that says when it may.
Choices MessagePlan::choices(const OpList& op_list) const {
    return {.pull = in_turn || !op_list.guarded, .tma = !op_list.guarded};
}

KernelChoice MessagePlan::launch(const Tuning& tuning, const OpList& op_list) const {
    if (!is_pair(op_list)) return launch_any(tuning, op_list, "_own");
    const u32 most = std::max(op_list.ops[0].op.packets, op_list.ops[1].op.packets);
    if (tuning.protocol == ws_ll && most == 1) return {"ws_pair_ll_lane", 1};
    if (tuning.protocol == ws_ll && most <= tuning.threads)
        return {tuning.threads == 32 ? "ws_pair_ll_warp" : "ws_pair_ll_block", tuning.threads};
    return {"ws_pair_" + name_of(tuning.protocol), tuning.threads};
}

void InPlacePlan::agree(Control& control, OpList&) {
    on_every_rank(control, in_turn, in_shares, defers_work);
}

Choices InPlacePlan::choices(const OpList& op_list) const {
    Choices choices = MessagePlan::choices(op_list);
    choices.tma = false;
    if (!in_shares) choices.most_blocks = 1;
    return choices;
}

void FoldPlan::agree(Control& control, OpList& op_list) {
    bool by_turns = double_buffer_stride != 0;
    on_every_rank(control, can_pull, in_shares, by_turns, own_shares);
    if (by_turns)
        op_list.guarded = false;
    else
        double_buffer_stride = 0;
    for (const std::uint32_t peers : exchange(control, [&] { return exchange_peers; }))
        if (peers != exchange_peers) exchange_peers = 0;
}

Choices FoldPlan::choices(const OpList&) const {
    return {.pull = can_pull,
            .tma = false,
            .most_blocks = in_shares ? Tuning::most_blocks : 1,
            .exchange_peers = exchange_peers,
            .least_pulled = 2048,
            .all_tried = own_shares};
}

KernelChoice FoldPlan::launch(const Tuning& tuning, const OpList&) const {
    if (tuning.protocol == ws_ll && exchange_peers) {
        if (tuning.blocks > 1) return {"ws_exchange_grid", tuning.threads};
        return {tuning.threads == 32 ? "ws_exchange_warp" : "ws_exchange_block", tuning.threads};
    }
    const bool words = tuning.protocol == ws_ll && in_words;
    return {"ws_fold_" + name_of(tuning.protocol) + (words ? "_words" : ""), tuning.threads};
}

void FoldPlan::tell(WsProgram& program, const Tuning& tuning) const {
    if (tuning.protocol == ws_pull) program.guarded = true;
}

std::vector<u64> FoldPlan::numbers() const {
    std::vector<u64> numbers{exchange_peers};
    for (const WsFoldStep& each : steps) numbers.push_back(each.sent);
    for (const WsFold& each : folds)
        numbers.insert(numbers.end(), {each.bytes, each.sources, each.type, each.operation});
    return numbers;
}

KernelChoice SoakPlan::launch(const Tuning& tuning, const OpList& op_list) const {
    const u32 packets = op_list.ops[0].op.packets;
    if (!is_soak_pair(op_list) || packets > tuning.threads)
        return {op_list.on_whole_words() ? "ws_soak_ll_words" : "ws_soak_ll", tuning.threads};
    if (packets == 1) return {"ws_soak_pair_lane", 1};
    return {tuning.threads == 32 ? "ws_soak_pair_warp" : "ws_soak_pair_block", tuning.threads};
}

/// The work's kernels want room. Other work than a soak's may change what its peer still fetches.
Choices GatedPlan::choices(const OpList& op_list) const {
    const bool pull = like == ws_pull || like == ws_tma_pull;
    return {.pull = pull,
            .tma = (like == ws_tma || like == ws_tma_pull) && !op_list.guarded,
            .most_blocks = work_lags ? 64u : 16u};
}

KernelChoice GatedPlan::launch(const Tuning& tuning, const OpList& op_list) const {
    return launch_any(tuning, op_list, "_words");
}

void OpList::agree(Control& control, bool says_it_is_free) {
    on_every_rank(control, says_it_is_free, alike);
    if (says_it_is_free) guarded = false;
    std::visit([&](auto& kind) { kind.agree(control, *this); }, plan);
}

Choices OpList::choices() const {
    Choices choices = std::visit([&](const auto& plan) { return plan.choices(*this); }, plan);
    choices.ll = choices.ll && slots > 0;
    if (lists) choices.ll = choices.pull = choices.tma = false;
    return choices;
}

bool OpList::on_whole_words() const {
    return std::ranges::all_of(ops, [](const Op& each) { return each.op.mine % sizeof(u32) == 0; });
}

SoakPlan soak_plan(std::span<const Step> steps, std::vector<WsStep>& turns) {
    SoakPlan plan;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const SoakTurn turn = *soak_turn(steps[s].gated);
        plan.soak = turn.state;
        turns[s].soak_first = turn.first;
        turns[s].soak_checks = turn.checks;
        turns[s].soak_fills = turn.fills;
    }
    return plan;
}

GatedPlan gated_plan(std::span<const Step> steps) {
    GatedPlan plan;
    for (const Step& step : steps) {
        plan.works.insert(plan.works.end(), step.gated.begin(), step.gated.end());
        plan.work_lags = plan.work_lags || step.work_lags;
    }
    return plan;
}

}  // namespace wirespeed
