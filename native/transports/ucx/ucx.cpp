// UCX without MPI: the same library that MPIs move their messages by, called directly.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "transports/align.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/one_sided_operation.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/ucx/endpoints.hpp"
#include "transports/ucx/one_sided.hpp"
#include "transports/ucx/put_list.hpp"
#include "transports/ucx/registered_region.hpp"
#include "transports/ucx/tag_list.hpp"

namespace wirespeed {
namespace {

using namespace ucx;

std::set<int> peers_of(std::span<const Step> steps) {
    std::set<int> peers;
    for (const Step& step : steps)
        for (const auto* transfers : {&step.sends, &step.receives})
            for (const Transfer& transfer : *transfers) peers.insert(transfer.peer);
    return peers;
}

/// An empty message to a rank further and further on, until each has heard of all.
std::vector<Step> barrier_steps(const Control& control) {
    std::vector<Step> steps;
    const int size = control.size(), rank = control.rank();
    for (int far = 1; far < size; far *= 2)
        steps.push_back(
            {{{(rank + far) % size, 0, 0}}, {{(rank - far + size) % size, 0, 0}}, {}, {}, {}});
    return steps;
}

/// `Base`: whose iterations the CPU runs.
template <class Base> class UcxTransport : public Base {
  public:
    UcxTransport(Context& context, std::uint64_t features)
        : Base(context), ucx_(context, features) {
        exchange(context.control, [&] {
            ucx_.connect(peers_of(barrier_steps(context.control)));
            return true;
        });
    }

    void close() override {
        ucx_.flush();
        barrier()->run();
        ucx_.flush();
        context_.control.barrier();
        ucx_.close();
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        must_know(kind);
        return Base::allocate(kind, bytes);
    }

    std::unique_ptr<StartLine> align() override { return wirespeed::align(context_, barrier()); }

    std::string describe() const override { return ucx_.describe(); }

  protected:
    using Base::context_;

    std::unique_ptr<Action> barrier() {
        auto barrier = std::make_unique<TagList>(ucx_, context_.page, context_.control.rank(),
                                                 TagList::Purpose::barrier);
        for (const Step& step : barrier_steps(context_.control)) barrier->add(step, {});
        return barrier;
    }

    /// Throws Unavailable, on every rank alike, where UCX cannot move such memory.
    void must_know(Memory kind) const {
        ucx_.memory_type(kind);
        const std::string elsewhere = context_.option("into", "");
        if (!elsewhere.empty()) ucx_.memory_type(memory_from(elsewhere));
    }

    Endpoints ucx_;
};

/// On the device that is current, and nothing is left that a peer waits for: the ranks may talk by
/// other means in between, and UCX makes no progress meanwhile.
///
/// A peer's flush may need this rank's progress (by sockets, a put ends with the receiver's
/// answer), so none stops before all have flushed.
class FlushedProgram final : public WrappedProgram {
  public:
    FlushedProgram(Context& context, Endpoints& endpoints, std::unique_ptr<Program> program,
                   std::unique_ptr<Action> barrier)
        : WrappedProgram(std::move(program)), device_(context.device), page_(context.page),
          ucx_(endpoints), barrier_(std::move(barrier)) {}

  private:
    void before(const Schedule&) override { device_.enter(); }
    void after(Stamps& stamps) override {
        page_.end_part(stamps.end - stamps.begin);
        ucx_.flush();
        barrier_->run();
        ucx_.flush();
    }

    Device& device_;
    Page& page_;
    Endpoints& ucx_;
    std::unique_ptr<Action> barrier_;
};

class TagTransport final : public UcxTransport<StepTransport> {
  public:
    explicit TagTransport(Context& context)
        : UcxTransport(context, Ucx::ContextParams::tag), lists_(context.option("lists", "loop")) {
        if (lists_ != "loop" && lists_ != "iov")
            throw Error("lists go by loop or iov, not by " + lists_);
    }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        ucx_.connect(peers_of(steps));
        preparation_ = {};
        auto program = std::make_unique<FlushedProgram>(
            context_, ucx_, StepTransport::compile(steps, buffers), barrier());
        return preparation_.noted(std::move(program));
    }

    bool by_address() const override { return true; }
    std::unique_ptr<Action> compile_step(const Step& step, const Buffers& buffers) override {
        auto made = std::make_unique<TagList>(ucx_, context_.page, context_.control.rank(),
                                              TagList::Purpose::data);
        made->add(step, buffers, lists_ == "iov");
        preparation_.add(made->prepared());
        return made;
    }

  private:
    std::string lists_;
    Preparation preparation_;  ///< of the program that is made
};

class PutTransport final : public UcxTransport<HostTransport> {
  public:
    explicit PutTransport(Context& context)
        : UcxTransport(context, Ucx::ContextParams::tag | Ucx::ContextParams::rma |
                                    (operation_of(context) ? Ucx::ContextParams::words : 0)),
          operation_(operation_of(context)),
          memory_(Signals::bytes(context.control.size()) / sizeof(std::uint64_t)),
          signals_(memory_.data(), context.control.rank(), context.control.size()),
          words_(ucx_, context.control, memory_.data(), Signals::bytes(context.control.size()),
                 Ucx::host) {}

    void close() override {
        words_.close();
        UcxTransport::close();
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        must_know(kind);
        Buffers buffers;
        try {
            exchange(context_.control, [&] {
                buffers = Transport::allocate(kind, bytes);
                return true;
            });
            open(buffers.send, bytes, buffers.kind);
            open(buffers.receive, bytes, buffers.into);
        } catch (...) {
            release(buffers);
            throw;
        }
        return buffers;
    }

    void release(Buffers& buffers) override {
        context_.control.barrier();
        for (std::byte* const base : {buffers.send, buffers.receive}) {
            const auto found = regions_.find(base);
            if (found == regions_.end()) continue;
            found->second.close();
            regions_.erase(found);
        }
        Transport::abandon(buffers);
    }
    /// Peers may still put into it.
    void abandon(Buffers& buffers) noexcept override { buffers = {}; }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        ucx_.connect(peers_of(steps));
        const auto theirs = peer_offsets(context_.control, steps);
        if (operation_) return one_sided(steps, theirs, buffers);
        const bool ready_notice = has_overwrite_hazard(context_.control, steps, buffers);
        const auto list_of = [&](std::size_t first, std::size_t end) {
            auto list =
                std::make_unique<PutList>(ucx_, context_.page, signals_, words_, ready_notice);
            for (std::size_t i = first; i < end; ++i)
                list->add(steps[i], theirs[i], buffers, regions_.at(buffers.receive));
            return list;
        };
        const std::string details =
            std::string("\"ready_notice\": ") + (ready_notice ? "true" : "false");
        std::unique_ptr<Program> program;
        if (std::ranges::any_of(steps, &Step::has_work)) {
            program = program_of(
                steps, buffers, [&](std::size_t i) { return list_of(i, i + 1); }, details);
        } else {
            // What is put needs to be complete at an iteration's end only.
            std::vector<std::unique_ptr<Action>> iteration;
            iteration.push_back(list_of(0, steps.size()));
            program = std::make_unique<HostProgram>(context_.page, std::move(iteration), align(),
                                                    details);
        }
        return std::make_unique<FlushedProgram>(context_, ucx_, std::move(program), barrier());
    }

  private:
    std::unique_ptr<Program> one_sided(std::span<const Step> steps, std::span<const Step> theirs,
                                       const Buffers& buffers) {
        const bool get = operation_ == OneSidedOperation::get,
                   put = operation_ == OneSidedOperation::put;
        RegisteredRegion& region = regions_.at(put ? buffers.receive : buffers.send);
        const auto type = ucx_.memory_type(get ? buffers.into : buffers.kind);
        auto list = std::make_unique<OneSided<OneSidedCalls>>(OneSidedCalls(ucx_, type),
                                                              *operation_, context_);
        list->add(steps, theirs, buffers, [&](std::byte* here, const Transfer& seen) {
            return OneSidedCalls::Part{here, seen.bytes, region.place(seen.peer, seen.offset),
                                       region.key(seen.peer), seen.peer};
        });
        // What flushes lets the ranks come together, too.
        return std::make_unique<OneSidedProgram<OneSidedCalls>>(
            context_, std::move(list),
            [&](auto operations) {
                std::vector<std::unique_ptr<Action>> iteration;
                iteration.push_back(std::move(operations));
                return std::make_unique<FlushedProgram>(
                    context_, ucx_,
                    std::make_unique<HostProgram>(context_.page, std::move(iteration), align()),
                    barrier());
            },
            nullptr);
    }

    /// Either buffer: a pattern may work in one of them alone.
    void open(std::byte* base, std::size_t bytes, Memory kind) {
        context_.page.enter(context_.page.name("ucp_mem_map"));
        regions_.emplace(
            base, RegisteredRegion(ucx_, context_.control, base, bytes, ucx_.memory_type(kind)));
        context_.page.leave();
    }

    std::optional<OneSidedOperation> operation_;
    std::vector<std::uint64_t> memory_;
    Signals signals_;
    RegisteredRegion words_;
    std::map<std::byte*, RegisteredRegion> regions_;  ///< by the buffer that each opens
};

const AddTransport add_ucx{"ucx", [](Context& context) -> std::unique_ptr<Transport> {
                               const std::string call = context.option("call", "tag");
                               if (call == "put") return std::make_unique<PutTransport>(context);
                               if (call == "tag") return std::make_unique<TagTransport>(context);
                               throw Error("call is tag or put for UCX, not '" + call + "'");
                           }};

}  // namespace
}  // namespace wirespeed
