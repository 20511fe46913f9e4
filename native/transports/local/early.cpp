#include "transports/local/early.hpp"

#include <algorithm>
#include <vector>

#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

/// Do bytes from two peers go to the same place?
bool peers_overlap(std::span<const Step> steps) {
    std::vector<Transfer> all;
    for (const auto& step : steps)
        for (const auto& transfer : step.receives)
            if (transfer.bytes) all.push_back(transfer);
    std::sort(all.begin(), all.end(),
              [](const auto& one, const auto& other) { return one.offset < other.offset; });
    std::size_t end = 0;
    int peer = -1;
    for (const auto& transfer : all) {
        if (transfer.offset < end && transfer.peer != peer) return true;
        if (transfer.offset + transfer.bytes <= end) continue;
        end = transfer.offset + transfer.bytes;
        peer = transfer.peer;
    }
    return false;
}

}  // namespace

bool may_come_early(Control& control, std::span<const Step> steps, const Buffers& buffers) {
    const auto ranks =
        exchange(control, [&] { return buffers.send == buffers.receive || peers_overlap(steps); });
    return std::find(ranks.begin(), ranks.end(), true) != ranks.end();
}

}  // namespace wirespeed
