#include "transports/gpu/message_work.hpp"

#include <algorithm>

namespace wirespeed {
namespace {

/// Adds to all of this message, and to nothing else.
bool adds_to(const Work& work, const Transfer& receive, const Buffers& buffers) {
    return work.kernel == "ws_sums_add" && work.arguments.size() == 3 &&
           work.arguments[0] == reinterpret_cast<std::uint64_t>(buffers.receive + receive.offset) &&
           work.arguments[1] * sizeof(double) == receive.bytes;
}

bool on_messages(const Step& step, const Buffers& buffers) {
    return step.meanwhile.empty() &&
           std::all_of(step.after.begin(), step.after.end(), [&](const Work& work) {
               return std::count_if(
                          step.receives.begin(), step.receives.end(),
                          [&](const Transfer& each) { return adds_to(work, each, buffers); }) == 1;
           });
}

}  // namespace

WorkBy work_by(std::span<const Step> steps, const Buffers& buffers) {
    const auto all = [&](auto holds) { return std::all_of(steps.begin(), steps.end(), holds); };
    if (all([&](const Step& step) { return on_messages(step, buffers); })) return WorkBy::kernel;
    if (all([](const Step& step) { return !step.gated.empty(); })) return WorkBy::gate;
    return WorkBy::host;
}

WsChange change_of(const Step& step, const Transfer& receive, const Buffers& buffers) {
    for (const Work& work : step.after)
        if (adds_to(work, receive, buffers)) return {work.arguments[2], ws_add_work};
    return {0, ws_no_work};
}

}  // namespace wirespeed
