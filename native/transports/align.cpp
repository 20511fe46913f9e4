#include "transports/align.hpp"

#include "transports/mpi/align.hpp"
#include "transports/mpi/world.hpp"

namespace wirespeed {

std::unique_ptr<Action> align(Context& context) {
    if (mpi::is_open()) return mpi::align(context.page);
    return std::make_unique<ControlAlign>(context);
}

}  // namespace wirespeed
