// An operation of all ranks by NVSHMEM's team of all processing elements.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "measure/program.hpp"
#include "transports/collective.hpp"
#include "transports/shmem/stream_calls.hpp"

namespace wirespeed::shmem {

class TeamOperation final : public Action {
  public:
    /// Throws Unavailable for one that NVSHMEM does not have.
    TeamOperation(StreamCalls calls, const Nvshmem& library, const Collective& one,
                  std::byte* buffer)
        : calls_(std::move(calls)) {
        choose(library, one, buffer + one.to, buffer + one.from);
    }

    const std::string& name() const { return name_; }

    void run() override {
        if (const int code = calls_.together(call_))
            throw Error(name_, arguments_, "error " + std::to_string(code));
        calls_.finish(-1);
    }

  private:
    using TeamCall = std::function<int(const Nvshmem&, Nvshmem::Stream)>;

    void choose(const Nvshmem& library, const Collective& one, std::byte* to, std::byte* from) {
        const std::size_t bytes = one.count * one.element_bytes(), count = one.count;
        arguments_ = std::to_string(count) + " " + one.type_name();
        if (one.in_place && one.operation != Collective::allreduce)
            throw Unavailable("NVSHMEM does this operation between two buffers (--in-place no)");
        // What NVSHMEM does with no elements is not said: only the waiting for all is left of it.
        if (one.operation == Collective::barrier ||
            (count == 0 && one.operation != Collective::reduce))
            return be("nvshmemx_barrier_on_stream",
                      [](const Nvshmem& calls, Nvshmem::Stream stream) {
                          return calls.barrier(Nvshmem::world, stream);
                      });
        switch (one.operation) {
            case Collective::allreduce:
                return reduce(library.reduce, "reduce", one, to, from);
            case Collective::reducescatter:
                return reduce(library.reduce_scatter, "reducescatter", one, to, from);
            case Collective::allgather:
                return be("nvshmemx_fcollectmem_on_stream",
                          [=](const Nvshmem& calls, Nvshmem::Stream stream) {
                              return calls.allgather(Nvshmem::world, to, from, bytes, stream);
                          });
            case Collective::alltoall:
                return be("nvshmemx_alltoallmem_on_stream",
                          [=](const Nvshmem& calls, Nvshmem::Stream stream) {
                              return calls.alltoall(Nvshmem::world, to, from, bytes, stream);
                          });
            case Collective::broadcast:
                return be("nvshmemx_broadcastmem_on_stream",
                          [=, root = one.root](const Nvshmem& calls, Nvshmem::Stream stream) {
                              return calls.broadcast(Nvshmem::world, to, from, bytes, root, stream);
                          });
            default:
                throw Unavailable("NVSHMEM has no reduction to one rank");
        }
    }

    void reduce(const auto& table, const char* operation, const Collective& one, std::byte* to,
                std::byte* from) {
        constexpr const char* types[] = {"float", "half", "bfloat16", "double", "int32"};
        constexpr const char* reductions[] = {"sum", "max", "min"};
        const std::string name = std::string("nvshmemx_") + types[one.type] + "_" +
                                 reductions[one.reduction] + "_" + operation + "_on_stream";
        const auto call = table[static_cast<std::size_t>(one.reduction * 5 + one.type)];
        if (!call) throw Unavailable("this NVSHMEM has no " + name);
        be(name, [=, count = one.count](const Nvshmem&, Nvshmem::Stream stream) {
            return call(Nvshmem::world, to, from, count, stream);
        });
    }

    void be(std::string name, TeamCall call) {
        name_ = std::move(name);
        call_ = std::move(call);
    }

    StreamCalls calls_;
    TeamCall call_;
    std::string name_, arguments_;
};

}  // namespace wirespeed::shmem
