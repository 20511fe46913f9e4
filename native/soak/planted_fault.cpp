#include "soak/planted_fault.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/error.hpp"

namespace wirespeed {
namespace {

constexpr const char* fault_names[] = {"damaged", "late", "stale", "lost", "unseen", "beyond"};
static_assert(std::size(fault_names) == ws_soak_beyond + 1);

}  // namespace

WsSoakFault PlantedFault::state() const {
    if (kind.empty()) return {0, 0, seed, ~0ull, 0};
    const auto found = std::find(std::begin(fault_names), std::end(fault_names), kind);
    if (found == std::end(fault_names))
        throw Error("a soak's fault is damaged, late, stale, lost, unseen or beyond, not '" + kind +
                    "'");
    return {static_cast<std::uint64_t>(found - std::begin(fault_names)), every, seed, ~0ull, 0};
}

Allocation PlantedFault::give_room(Device& device, Memory memory,
                                   std::vector<WsSoakPlace>& places) const {
    if (kind.empty()) return {};
    std::size_t bytes = 8;
    for (const WsSoakPlace& each : places) bytes += each.bytes + 16;
    Allocation room(device, memory, bytes);
    auto at = reinterpret_cast<std::uint64_t>(room.address());
    for (WsSoakPlace& each : places) {
        each.aside = (at + 7) / 8 * 8 + each.at % 8;  // words are words there, too
        at = each.aside + each.bytes;
    }
    return room;
}

void PlantedFault::plant(std::vector<Work>& turn, std::uint64_t soak, std::uint64_t first,
                         std::uint64_t checks) const {
    if (kind.empty() || !checks) return;
    turn.insert(turn.begin(), make_work("ws_soak_plant", 1, 512,
                                        std::array<std::uint64_t, 4>{0, soak, first, checks}));
}

}  // namespace wirespeed
