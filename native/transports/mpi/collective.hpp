// MPI's own operations of all ranks.
#pragma once

#include <memory>

#include "transports/transport.hpp"

namespace wirespeed::mpi {

/// One call of MPI, or several where its elements are more than `largest`. Throws Unavailable for
/// what MPI does not have, Error where there is no world.
std::unique_ptr<Action> make_collective(Page& page, const Collective& collective,
                                        const Buffers& buffers, std::size_t largest);

}  // namespace wirespeed::mpi
