// The MPI world that the ranks share: mpi4py joined it, the core takes the timed calls from it.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "libraries/mpi.hpp"

namespace wirespeed::mpi {

template <class Abi> struct World {
    using abi = Abi;
    World(Library opened, std::uint64_t handle)
        : library(std::move(opened)), calls(library), communicator(Abi::comm(handle)) {}
    Library library;
    Calls<Abi> calls;
    typename Abi::Comm communicator;
};

using AnyWorld = std::variant<World<OpenMpiAbi>, World<MpichAbi>>;

/// Takes the library at `path` and the communicator's raw handle. Throws Error.
void open_world(const std::string& path, std::uint64_t communicator);
/// Did an MPI join the ranks?
bool is_open();
/// The world opened; throws Error when no MPI was.
AnyWorld& world();
const char* world_abi();
/// Open MPI's point-to-point layer (its PML), "ucx" or "ob1", which it chooses by itself; empty
/// where nobody can tell, and under other MPIs.
std::string openmpi_layer();

}  // namespace wirespeed::mpi
