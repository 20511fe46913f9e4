// Programs one after the other, with sums by the device between them: what a program does that
// works on what it has received before it passes it on.
#pragma once

#include <memory>
#include <vector>

#include "devices/device.hpp"
#include "measure/program.hpp"

namespace wirespeed {

/// Adds `value` to each double of a place in memory.
struct Add {
    Memory kind;
    std::byte* at;
    std::size_t bytes;
    double value;
};

struct Link {
    Program* program;  ///< not owned: several links may be the same program
    std::vector<Add> adds;
};

/// An iteration is one iteration of each link, in order; the CPU goes from one to the next, and
/// stamps.
std::unique_ptr<Program> make_chain(Page& page, Device& device, std::vector<Link> links);

}  // namespace wirespeed
