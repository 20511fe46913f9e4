// One buffer of each rank, which all other ranks may write and read while the window is open.
#pragma once

#include <string>

#include "transports/mpi/world.hpp"

namespace wirespeed::rma {

/// Opening and closing are collective, so no destructor does it: a rank that ends early must not
/// wait there for others.
template <class Abi> class Window {
  public:
    /// Every rank calls it. Throws Error, and Unavailable where this MPI has no windows for these
    /// ranks; a rank that opened its own while another could not has
    /// to forget it, since closing would wait for the other.
    Window(mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls, std::byte* base,
           std::size_t bytes)
        : world_(world), calls_(calls) {
        const std::string size = std::to_string(bytes) + " bytes";
        const int made = calls.create(base, static_cast<mpi::Aint>(bytes), 1, calls.info_null,
                                      world.communicator, &handle_);
        try {
            check(made, "MPI_Win_create", size);
        } catch (const Error& error) {
            // No window was given: Open MPI says so where none of its components takes these ranks.
            if (made != Abi::err_win) throw;
            throw Unavailable(
                std::string(error.what()) +
                "; no component of this MPI for one-sided calls takes these ranks: try "
                "OMPI_MCA_osc=pt2pt (Open MPI 4), or another MPI with --mpi");
        }
        // A window's errors kill the process unless it is told otherwise.
        check(calls.set_errhandler(handle_, calls.errors_return), "MPI_Win_set_errhandler", size);
        // For as long as it is open: the timed calls need no other synchronisation than flushes.
        // Nobody ever locks it for himself, which is what MPI_MODE_NOCHECK promises.
        check(calls.lock_all(Abi::mode_nocheck, handle_), "MPI_Win_lock_all", size);
    }

    /// Every rank calls it.
    void close() noexcept {
        calls_.unlock_all(handle_);
        calls_.free(&handle_);
    }

    typename Abi::Win handle() const { return handle_; }

  private:
    void check(int code, const char* call, const std::string& arguments) const {
        world_.calls.check(code, call, arguments);
    }

    mpi::World<Abi>& world_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Win handle_{};
};

}  // namespace wirespeed::rma
