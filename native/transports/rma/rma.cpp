// MPI one-sided: the sender puts into the receiver's buffer (MPI_Put), or the receiver gets out of
// the sender's (MPI_Get), in an epoch that is open all the time (MPI_Win_lock_all).
#include <algorithm>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/rma/one_sided.hpp"
#include "transports/rma/op_list.hpp"
#include "transports/rma/window.hpp"

namespace wirespeed {
namespace {

/// The most bytes for one call: counts are ints.
constexpr std::size_t largest_operation = std::size_t{1} << 30;

template <class Abi> class RmaTransport final : public Transport {
  public:
    RmaTransport(Context& context, mpi::World<Abi>& world)
        : Transport(context), world_(world), calls_(world.library) {
        const std::string call = context.option("call", "put");
        if (call != "put" && call != "get")
            throw Error("call is put or get for one-sided MPI, not '" + call + "'");
        get_ = call == "get";
        operation_ = operation_of(context);
        piece_ = std::min<std::size_t>(
            context.number("largest-count", largest_operation, 1, SIZE_MAX), largest_operation);
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        Buffers buffers;
        try {
            exchange(context_.control, [&] {
                buffers = Transport::allocate(kind, bytes);
                return true;
            });
            open(buffers.send, bytes);
            open(buffers.receive, bytes);
        } catch (...) {
            release(buffers);
            throw;
        }
        return buffers;
    }

    void release(Buffers& buffers) override {
        for (std::byte* const base : {buffers.send, buffers.receive}) {
            const auto found = windows_.find(base);
            if (found == windows_.end()) continue;
            context_.page.enter(context_.page.name("MPI_Win_free"));
            found->second.close();
            windows_.erase(found);
        }
        context_.page.leave();
        Transport::release(buffers);
    }
    /// A window ends with all ranks: until then MPI knows the memory.
    void abandon(Buffers& buffers) noexcept override {
        const bool known = windows_.erase(buffers.send) + windows_.erase(buffers.receive) > 0;
        if (known) buffers = {};
        Transport::abandon(buffers);
    }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const auto theirs = peer_offsets(context_.control, steps);
        if (operation_) return one_sided(steps, theirs, buffers);
        rma::Choice choice;
        choice.get = get_;
        choice.ready_notice = get_ || has_overwrite_hazard(context_.control, steps, buffers);
        choice.piece = piece_;
        const auto& window = windows_.at(get_ ? buffers.send : buffers.receive);
        auto op_list = std::make_unique<rma::OpList<Abi>>(world_, calls_, window.handle(), choice,
                                                          context_.page);
        for (std::size_t i = 0; i < steps.size(); ++i) op_list->add(steps[i], theirs[i], buffers);
        return std::make_unique<DescribedProgram>(
            context_, std::move(op_list),
            std::string("\"ready_notice\": ") + (choice.ready_notice ? "true" : "false"));
    }

    std::string describe() const override {
        if (operation_) return std::string("\"abi\": \"") + Abi::name + "\"";
        return std::string("\"abi\": \"") + Abi::name + "\", \"call\": \"" +
               (get_ ? "MPI_Get" : "MPI_Put") + "\"";
    }

  private:
    std::unique_ptr<Program> one_sided(std::span<const Step> steps, std::span<const Step> theirs,
                                       const Buffers& buffers) {
        const bool put = operation_ == OneSidedOperation::put;
        const auto window = windows_.at(put ? buffers.receive : buffers.send).handle();
        using Calls = rma::OneSidedCalls<Abi>;
        auto list = std::make_unique<OneSided<Calls>>(Calls(world_, calls_, window, piece_),
                                                      *operation_, context_);
        list->add(steps, theirs, buffers, [](std::byte* here, const Transfer& seen) -> rma::Part {
            return {here, static_cast<mpi::Aint>(seen.offset), seen.bytes, seen.peer, 0};
        });
        return std::make_unique<OneSidedProgram<Calls>>(
            context_, std::move(list),
            std::make_unique<rma::Synchronise<Abi>>(context_, world_, calls_, window));
    }

    /// Every rank keeps the window, or none.
    void open(std::byte* base, std::size_t bytes) {
        std::vector<rma::Window<Abi>> made;
        context_.page.enter(context_.page.name("MPI_Win_create"));
        exchange(context_.control, [&] {
            made.emplace_back(world_, calls_, base, bytes);
            return true;
        });
        context_.page.leave();
        windows_.emplace(base, made.front());
    }

    mpi::World<Abi>& world_;
    mpi::WindowCalls<Abi> calls_;
    std::map<std::byte*, rma::Window<Abi>> windows_;  ///< by the buffer that each opens
    std::optional<OneSidedOperation> operation_;      ///< that no message accompanies
    bool get_ = false;
    std::size_t piece_ = 0;
};

const AddTransport add_rma{"rma", [](Context& context) -> std::unique_ptr<Transport> {
                               return std::visit(
                                   [&](auto& world) -> std::unique_ptr<Transport> {
                                       using Abi = typename std::decay_t<decltype(world)>::abi;
                                       return std::make_unique<RmaTransport<Abi>>(context, world);
                                   },
                                   mpi::world());
                           }};

}  // namespace
}  // namespace wirespeed
