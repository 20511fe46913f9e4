#include "transports/local/overwrite_hazard.hpp"

#include <algorithm>
#include <vector>

#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

/// Do bytes from two peers go to the same place? Where one sender's do not land `in_order`, bytes
/// of its own count too, unless they are the very same place: that is written by the same parts.
bool receives_overlap(std::span<const Step> steps, bool in_order) {
    std::vector<Transfer> all;
    for (const auto& step : steps)
        for (const auto& transfer : step.receives)
            if (transfer.bytes) all.push_back(transfer);
    std::sort(all.begin(), all.end(),
              [](const auto& one, const auto& other) { return one.offset < other.offset; });
    std::size_t begin = 0, end = 0;
    int peer = -1;
    for (const auto& transfer : all) {
        const bool same = transfer.offset == begin && transfer.offset + transfer.bytes == end;
        if (transfer.offset < end && (transfer.peer != peer || !(in_order || same))) return true;
        if (transfer.offset + transfer.bytes <= end) continue;
        begin = transfer.offset;
        end = transfer.offset + transfer.bytes;
        peer = transfer.peer;
    }
    return false;
}

}  // namespace

bool has_overwrite_hazard(Control& control, std::span<const Step> steps, const Buffers& buffers,
                          bool in_order) {
    const auto ranks = exchange(control, [&] {
        return buffers.send == buffers.receive || buffers.read_between ||
               receives_overlap(steps, in_order);
    });
    return std::find(ranks.begin(), ranks.end(), true) != ranks.end();
}

}  // namespace wirespeed
