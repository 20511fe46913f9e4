// How the ranks of a program over MPI start together.
#pragma once

#include <memory>

#include "measure/program.hpp"

namespace wirespeed::mpi {

/// A barrier of the world, as an action. Throws Error when there is no world.
std::unique_ptr<Action> align(Page& page);

}  // namespace wirespeed::mpi
