// MPI's one-sided operations that no message accompanies. The target's rank waits in MPI_Barrier
// meanwhile.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "transports/align.hpp"
#include "transports/local/one_sided.hpp"
#include "transports/rma/op_list.hpp"
#include "transports/rma/window.hpp"

namespace wirespeed::rma {

template <class Abi> class OneSidedCalls {
  public:
    using Part = rma::Part;
    static constexpr const char* flush_name = "MPI_Win_flush";

    /// `piece`: the most bytes for one call.
    OneSidedCalls(mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls,
                  typename Abi::Win window, std::size_t piece)
        : mpi_(world.calls), calls_(calls), window_(window), piece_(piece) {}

    const char* name(OneSidedOperation operation) const {
        return operation == OneSidedOperation::put   ? "MPI_Put"
               : operation == OneSidedOperation::get ? "MPI_Get"
                                                     : "MPI_Fetch_and_op";
    }
    void start(const Part& part, OneSidedOperation operation, Additions& additions) {
        std::size_t begin = 0;
        do {
            const std::size_t bytes = std::min(piece_, part.bytes - begin);
            const Part piece{part.here + begin, part.remote_offset + static_cast<mpi::Aint>(begin),
                             bytes, part.peer, 0};
            mpi_.check(issue(piece, operation, additions), name(operation),
                       std::to_string(bytes) + " bytes");
            begin += bytes;
        } while (begin < part.bytes);
    }
    void flush(const Part& part, CallId) {
        mpi_.check(calls_.flush(part.peer, window_), flush_name);
    }

  private:
    int issue(const Part& part, OneSidedOperation operation, Additions& additions) {
        const int bytes = static_cast<int>(part.bytes);
        switch (operation) {
            case OneSidedOperation::put:
                return calls_.put(part.here, bytes, mpi_.byte, part.peer, part.remote_offset, bytes,
                                  mpi_.byte, window_);
            case OneSidedOperation::get:
                return calls_.get(part.here, bytes, mpi_.byte, part.peer, part.remote_offset, bytes,
                                  mpi_.byte, window_);
            case OneSidedOperation::fetch_add:
                return calls_.fetch_and_op(&additions.addend, &additions.fetched, calls_.int64,
                                           part.peer, part.remote_offset, calls_.sum, window_);
        }
        return mpi::success;
    }

    const mpi::Calls<Abi>& mpi_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Win window_;
    std::size_t piece_;
};

/// Ranks come together with what they have written, and part with what others have put.
template <class Abi> class Synchronise final : public Action {
  public:
    Synchronise(Context& context, mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls,
                typename Abi::Win window)
        : mpi_(world.calls), calls_(calls), window_(window), barrier_(align(context)) {}
    void run() override {
        sync();
        barrier_->run();
        sync();
    }

  private:
    void sync() { mpi_.check(calls_.sync(window_), "MPI_Win_sync"); }

    const mpi::Calls<Abi>& mpi_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Win window_;
    std::unique_ptr<Action> barrier_;
};

}  // namespace wirespeed::rma
