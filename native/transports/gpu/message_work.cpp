#include "transports/gpu/message_work.hpp"

#include <algorithm>
#include <array>

#include "transports/gpu/folds.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/soak_turn.hpp"

namespace wirespeed {
namespace {

/// Adds to all of this message, and to nothing else.
bool adds_to(const Work& work, const Transfer& receive, const Buffers& buffers) {
    return work.kernel == "ws_sums_add" && work.arguments.size() == 3 &&
           work.arguments[0] == reinterpret_cast<std::uint64_t>(buffers.receive + receive.offset) &&
           work.arguments[1] * sizeof(double) == receive.bytes;
}

bool is_short_soak(const Step& step) { return soak_turn(step.gated) && has_short_messages(step); }

/// It has no other form.
bool is_gated_only(const Step& step) { return !step.gated.empty() && !step.has_work(); }

bool on_messages(const Step& step, const Buffers& buffers) {
    return step.meanwhile.empty() && !is_gated_only(step) &&
           std::all_of(step.after.begin(), step.after.end(), [&](const Work& work) {
               return std::count_if(
                          step.receives.begin(), step.receives.end(),
                          [&](const Transfer& each) { return adds_to(work, each, buffers); }) == 1;
           });
}

/// What is done to the message of `receive`; nothing: it stays as it is.
WsChange change_of(const Step& step, const Transfer& receive, const Buffers& buffers) {
    for (const Work& work : step.after)
        if (adds_to(work, receive, buffers)) return {work.arguments[2], ws_add_work};
    return {0, ws_no_work};
}

/// What is done to the message of `send` by the work of the step before, `before`.
WsChange change_before(const Step& before, const Transfer& send, const Buffers& buffers) {
    for (const Transfer& receive : before.receives)
        if (receive.offset == send.offset && receive.bytes == send.bytes)
            return change_of(before, receive, buffers);
    return {0, ws_no_work};
}

}  // namespace

WorkBy agreed_work(Control& control, std::span<const Step> steps, const Buffers& buffers) {
    using Possible = std::array<bool, 4>;  // in the order of WorkBy
    const auto all = [&](auto holds) { return std::all_of(steps.begin(), steps.end(), holds); };
    const auto ranks = exchange(control, [&] {
        return Possible{all([&](const Step& step) { return on_messages(step, buffers); }),
                        std::ranges::none_of(steps, is_gated_only) && can_fold(steps),
                        all(is_short_soak),
                        all([](const Step& step) { return !step.gated.empty(); })};
    });
    for (std::size_t by = 0; by < Possible{}.size(); ++by)
        if (std::ranges::all_of(ranks, [=](const Possible& each) { return each[by]; }))
            return static_cast<WorkBy>(by);
    return WorkBy::host;
}

InPlacePlan in_place_plan(std::span<const Step> steps, const Buffers& buffers, OpList& op_list) {
    InPlacePlan plan;
    plan.in_turn = is_in_turn(steps);
    plan.in_shares = std::ranges::all_of(op_list.ops, [](const OpList::Op& each) {
        return (each.op.mine | each.op.theirs | each.op.bytes) % 16 == 0;
    });
    plan.defers_work =
        buffers.send == buffers.receive && std::ranges::any_of(steps, &Step::has_work);
    auto op = op_list.ops.begin();
    const auto set = [&](const WsChange& change) {
        op->op.work = change.work;
        op++->op.operand = change.operand;
        return change.work != ws_no_work;
    };
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const Step& before = steps[(s + steps.size() - 1) % steps.size()];
        std::size_t sent_on = 0;
        for (const Transfer& send : steps[s].sends)
            sent_on += set(change_before(before, send, buffers));
        for (const Transfer& receive : steps[s].receives)
            set(change_of(steps[s], receive, buffers));
        // All that works change is sent on in the next step, just as it is.
        if (sent_on != before.after.size()) plan.defers_work = false;
    }
    return plan;
}

bool is_free_early(const Step& before, const Step& step, const Buffers& buffers) {
    const auto overlap = [](const Transfer& one, const Transfer& other) {
        return one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
    };
    if (before.sends.empty()) return false;
    for (const Transfer& receive : step.receives) {
        if (folds_touch(before, receive, buffers)) return false;
        for (const Transfer& earlier : before.receives)
            if (overlap(receive, earlier)) return false;
    }
    return &before != &step;
}

bool is_in_turn(std::span<const Step> steps) {
    return std::ranges::all_of(steps, [&](const Step& step) {
        return step.sends.size() == 1 && step.receives.size() == 1 &&
               step.sends[0].peer == steps[0].sends[0].peer &&
               step.receives[0].peer == steps[0].receives[0].peer;
    });
}

bool says_it_is_free(std::span<const Step> steps, const Buffers& buffers) {
    bool is_free = is_in_turn(steps);
    for (std::size_t s = 0; is_free && s < steps.size(); ++s)
        is_free = steps[s].sends[0].peer == steps[s].receives[0].peer &&
                  is_free_early(steps[(s + steps.size() - 1) % steps.size()], steps[s], buffers);
    return is_free;
}

}  // namespace wirespeed
