// Which of a step's launches are a turn of a soak (kernels/soak.h), for kernels that do it
// themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "transports/transport.hpp"

namespace wirespeed {

struct SoakTurn {
    std::uint64_t state = 0;  ///< address of its WsSoak
    std::uint32_t first = 0, checks = 0, fills = 0;
};

/// None: these launches are something else.
std::optional<SoakTurn> soak_turn(std::span<const Work> work);

/// Are its messages so short that one block moves and checks them?
bool has_short_messages(const Step& step);

}  // namespace wirespeed
