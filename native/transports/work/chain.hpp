// Programs one after the other, with work between them.
#pragma once

#include <memory>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed {

struct ChainLink {
    std::shared_ptr<Program> program;
    Step step;  ///< the last one that it moves, with its work
};

/// An iteration is one iteration of each link, in order; the CPU goes from one to the next, and
/// stamps.
std::unique_ptr<Program> make_chain(Page& page, std::shared_ptr<Worker> worker,
                                    const std::vector<ChainLink>& links,
                                    std::unique_ptr<StartLine> start);

}  // namespace wirespeed
