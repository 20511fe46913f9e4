// MPI's one-sided operations that no message accompanies: each is issued and flushed, which ends
// when it is complete at its origin and at its target. The target's rank waits in MPI_Barrier
// meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "measure/program.hpp"
#include "transports/align.hpp"
#include "transports/local/described.hpp"
#include "transports/local/operation.hpp"
#include "transports/rma/op_list.hpp"
#include "transports/rma/window.hpp"

namespace wirespeed::rma {

template <class Abi> class OneSided final : public Action {
  public:
    OneSided(mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls, typename Abi::Win window,
             Operation operation, const Context& context)
        : mpi_(world.calls), calls_(calls), window_(window), operation_(operation),
          page_(context.page), additions_(context), call_(page_.name(name())),
          flush_(page_.name("MPI_Win_flush")) {}

    void add(const Part& part) { parts_.push_back(part); }

    void run() override {
        for (const Part& part : parts_) {
            page_.enter(call_, part.peer);
            mpi_.check(start(part), name(), std::to_string(part.bytes) + " bytes");
            page_.enter(flush_, part.peer);
            mpi_.check(calls_.flush(part.peer, window_), "MPI_Win_flush");
            if (operation_ == Operation::fetch_add) additions_.done();
        }
    }

    void begin() { additions_.begin(); }
    /// The origin's buffer gets the word that was fetched last. Throws Error where the sum is
    /// wrong.
    void end(Device& device) {
        additions_.check();
        if (additions_.count)
            device.copy(parts_.back().here, &additions_.fetched, sizeof additions_.fetched);
    }

    const char* name() const {
        return operation_ == Operation::put   ? "MPI_Put"
               : operation_ == Operation::get ? "MPI_Get"
                                              : "MPI_Fetch_and_op";
    }

  private:
    int start(const Part& part) {
        const int bytes = static_cast<int>(part.bytes);
        switch (operation_) {
            case Operation::put:
                return calls_.put(part.here, bytes, mpi_.byte, part.peer, part.remote_offset, bytes,
                                  mpi_.byte, window_);
            case Operation::get:
                return calls_.get(part.here, bytes, mpi_.byte, part.peer, part.remote_offset, bytes,
                                  mpi_.byte, window_);
            case Operation::fetch_add:
                return calls_.fetch_and_op(&additions_.addend, &additions_.fetched, calls_.int64,
                                           part.peer, part.remote_offset, calls_.sum, window_);
        }
        return mpi::success;
    }

    const mpi::Calls<Abi>& mpi_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Win window_;
    Operation operation_;
    Page& page_;
    Additions additions_;
    CallId call_, flush_;
    std::vector<Part> parts_;
};

/// Ranks begin with what they have written, and end with what others have put.
template <class Abi> class OneSidedProgram final : public WrappedProgram {
  public:
    OneSidedProgram(Context& context, mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls,
                    typename Abi::Win window, OneSided<Abi>& operations,
                    std::unique_ptr<Program> program)
        : WrappedProgram(std::move(program)), device_(context.device), mpi_(world.calls),
          calls_(calls), window_(window), operations_(operations), barrier_(align(context)) {}

    void meet() override {
        synchronise();
        program_->meet();
    }

  private:
    void before(const Schedule&) override { operations_.begin(); }
    void after(Stamps&) override {
        synchronise();
        operations_.end(device_);
    }
    void synchronise() {
        sync();
        barrier_->run();
        sync();
    }
    void sync() { mpi_.check(calls_.sync(window_), "MPI_Win_sync"); }

    Device& device_;
    const mpi::Calls<Abi>& mpi_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Win window_;
    OneSided<Abi>& operations_;
    std::unique_ptr<Action> barrier_;
};

}  // namespace wirespeed::rma
