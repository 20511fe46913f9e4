#include "transports/local/soak_turn.hpp"

#include <algorithm>

namespace wirespeed {

std::optional<SoakTurn> soak_turn(std::span<const Work> work) {
    if (work.empty() || work.back().kernel != "ws_soak_turn") return std::nullopt;
    const std::vector<std::uint64_t>& given = work.back().arguments;
    return SoakTurn{given.at(1), static_cast<std::uint32_t>(given.at(2)),
                    static_cast<std::uint32_t>(given.at(3)),
                    static_cast<std::uint32_t>(given.at(4))};
}

bool has_short_messages(const Step& step) {
    const auto is_short = [](const Transfer& each) { return each.bytes <= 4 << 10; };
    return std::ranges::all_of(step.sends, is_short) &&
           std::ranges::all_of(step.receives, is_short);
}

}  // namespace wirespeed
