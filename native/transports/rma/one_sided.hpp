// One-sided operations that nobody is told of: each is issued and flushed, which ends when it is
// complete at its origin and at its target. The target's rank waits in MPI_Barrier meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "measure/program.hpp"
#include "transports/align.hpp"
#include "transports/local/described.hpp"
#include "transports/rma/op_list.hpp"
#include "transports/rma/window.hpp"

namespace wirespeed::rma {

enum class Operation { put, get, fetch_add };

/// Throws Error for a word that is none.
inline Operation operation_from(const std::string& word) {
    if (word == "put") return Operation::put;
    if (word == "get") return Operation::get;
    if (word == "fetch-add") return Operation::fetch_add;
    throw Error("operation is put, get or fetch-add for one-sided MPI, not '" + word + "'");
}

template <class Abi> class OneSided final : public Action {
  public:
    OneSided(mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls, typename Abi::Win window,
             Operation operation, std::int64_t addend, Page& page)
        : mpi_(world.calls), calls_(calls), window_(window), operation_(operation), page_(page),
          call_(page.name(name())), flush_(page.name("MPI_Win_flush")), addend_(addend) {}

    void add(const Part& part) { parts_.push_back(part); }

    void run() override {
        for (const Part& part : parts_) {
            page_.enter(call_, part.peer);
            mpi_.check(start(part), name(), std::to_string(part.bytes) + " bytes");
            page_.enter(flush_, part.peer);
            mpi_.check(calls_.flush(part.peer, window_), "MPI_Win_flush");
            if (operation_ == Operation::fetch_add && ++added_ == 1) first_ = fetched_;
        }
    }

    void begin() { added_ = 0; }
    /// Throws Error where what was fetched last is not the first word and one for each addition in
    /// between; else the origin's buffer gets it.
    void end(Device& device) {
        if (added_ == 0) return;
        if (fetched_ != first_ + added_ - 1)
            throw Error("wrong sum: " + std::to_string(added_) + " additions of 1 to " +
                        std::to_string(first_) + " made " + std::to_string(fetched_ + 1));
        device.copy(parts_.back().here, &fetched_, sizeof fetched_);
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
                return calls_.fetch_and_op(&addend_, &fetched_, calls_.int64, part.peer,
                                           part.remote_offset, calls_.sum, window_);
        }
        return mpi::success;
    }

    const mpi::Calls<Abi>& mpi_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Win window_;
    Operation operation_;
    Page& page_;
    CallId call_, flush_;
    std::vector<Part> parts_;
    std::int64_t addend_, fetched_ = 0, first_ = 0, added_ = 0;
};

/// Ranks begin with what they have written, and end with what others have put.
template <class Abi> class OneSidedProgram final : public Program {
  public:
    OneSidedProgram(Context& context, mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls,
                    typename Abi::Win window, std::unique_ptr<OneSided<Abi>> operations)
        : context_(context), mpi_(world.calls), calls_(calls), window_(window),
          operations_(*operations), barrier_(align(context)),
          program_(context, std::move(operations),
                   std::string("\"call\": \"") + operations_.name() + ", MPI_Win_flush\"") {}

    void run(const Schedule& schedule, std::span<double> seconds) override {
        settle();
        operations_.begin();
        program_.run(schedule, seconds);
        settle();
        operations_.end(context_.device);
    }
    bool has_barrier() const override { return program_.has_barrier(); }
    std::string describe() const override { return program_.describe(); }

  private:
    void settle() {
        sync();
        barrier_->run();
        sync();
    }
    void sync() { mpi_.check(calls_.sync(window_), "MPI_Win_sync"); }

    Context& context_;
    const mpi::Calls<Abi>& mpi_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Win window_;
    OneSided<Abi>& operations_;
    std::unique_ptr<Action> barrier_;
    DescribedProgram program_;
};

}  // namespace wirespeed::rma
