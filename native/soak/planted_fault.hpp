// What tests plant between a soak's transfers and its check (kernels/soak_faults.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "devices/work.hpp"
#include "kernels/soak_types.h"

namespace wirespeed {

/// One message of `every` is "damaged", "late", "stale", "lost", "unseen" (by the check) or
/// "beyond" (a byte behind it is written); "": nothing is planted.
struct PlantedFault {
    std::string kind;
    std::uint64_t every = 10000, seed = 1;

    /// Throws an Error for a kind that there is not.
    WsSoakFault state() const;
    /// Room for one message aside of each place, which lasts as long as what is returned.
    Allocation give_room(Device& device, Memory memory, std::vector<WsSoakPlace>& places) const;
    /// Puts the fault before a turn that checks `checks` places from number `first` on.
    void plant(std::vector<Work>& turn, std::uint64_t soak, std::uint64_t first,
               std::uint64_t checks) const;
};

}  // namespace wirespeed
