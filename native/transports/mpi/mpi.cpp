// MPI two-sided: the buffers are handed to MPI as they are. A step of one transfer is a blocking
// MPI_Send or MPI_Recv, as in the ping-pong tutorial; a step of several posts them all and waits.
#include "transports/transport.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/align.hpp"
#include "transports/lists.hpp"
#include "transports/mpi/collective.hpp"
#include "transports/mpi/message.hpp"
#include "transports/mpi/world.hpp"

namespace wirespeed {
namespace {

constexpr int tag = 17;

/// One transfer, ready to be handed to MPI.
template <class Abi> struct Part {
    void* address;
    int count;
    typename Abi::Datatype type;
    int peer;
    std::size_t bytes;

    std::string arguments() const {
        return std::to_string(bytes) + " bytes, peer " + std::to_string(peer);
    }
};

/// A step's place among a list's parts: receives first, then sends.
struct StepRange {
    std::size_t begin, receives_end, end;
};

/// Steps in order, flat: between one call's return and the next call lie a few loads, because at
/// small messages every nanosecond here is on the critical path.
template <class Abi> class OpList final : public Action {
  public:
    OpList(mpi::World<Abi>& world, Page& page, Preparation& preparation)
        : calls_(world.calls), communicator_(world.communicator), page_(page),
          preparation_(preparation), send_(page.name("MPI_Send")), receive_(page.name("MPI_Recv")),
          post_(page.name("MPI_Isend")), wait_(page.name("MPI_Waitall")) {}

    /// `types`: each list is one message of a derived type.
    void add(const Step& step, const Buffers& buffers, std::size_t largest, std::size_t piece,
             bool types) {
        const auto add_all = [&](std::span<const Transfer> transfers, std::byte* base) {
            if (types)
                for (const auto list : lists_of(transfers)) add_list(list, base, largest, piece);
            else
                for (const auto& transfer : transfers) add_part(transfer, base, largest, piece);
        };
        StepRange span{parts_.size(), 0, 0};
        add_all(step.receives, buffers.receive);
        span.receives_end = parts_.size();
        add_all(step.sends, buffers.send);
        span.end = parts_.size();
        if (span.end > span.begin) spans_.push_back(span);
        requests_.resize(std::max(requests_.size(), span.end - span.begin));
    }

    bool post() override {
        if (spans_.size() != 1) return false;
        post(spans_.front());
        return posted_ = true;
    }

    void run() override {
        if (posted_) {
            posted_ = false;
            return wait_for(spans_.front());
        }
        for (const StepRange& span : spans_) {
            if (span.end - span.begin != 1)
                all_at_once(span);
            else if (span.receives_end == span.end)
                receive(parts_[span.begin]);
            else
                send(parts_[span.begin]);
        }
    }

  private:
    void add_part(const Transfer& transfer, std::byte* base, std::size_t largest,
                  std::size_t piece) {
        messages_.push_back(
            std::make_unique<mpi::Message<Abi>>(calls_, transfer.bytes, largest, piece));
        const auto& message = *messages_.back();
        parts_.push_back({base + transfer.offset, message.count(), message.type(), transfer.peer,
                          transfer.bytes});
    }

    void add_list(std::span<const Transfer> list, std::byte* base, std::size_t largest,
                  std::size_t piece) {
        if (!list.front().list) return add_part(list.front(), base, largest, piece);
        std::vector<mpi::Aint> places;
        for (const auto& block : list) places.push_back(static_cast<mpi::Aint>(block.offset));
        preparation_.add([&] {
            messages_.push_back(
                std::make_unique<mpi::Message<Abi>>(calls_, list.front().bytes, places));
        });
        const auto& message = *messages_.back();
        parts_.push_back({base, message.count(), message.type(), list.front().peer,
                          list.front().bytes * list.size()});
    }

    void send(const Part<Abi>& part) {
        page_.enter(send_, part.peer);
        const int code =
            calls_.send(part.address, part.count, part.type, part.peer, tag, communicator_);
        if (code != mpi::success) [[unlikely]]
            calls_.check(code, "MPI_Send", part.arguments());
    }

    void receive(const Part<Abi>& part) {
        page_.enter(receive_, part.peer);
        const int code = calls_.recv(part.address, part.count, part.type, part.peer, tag,
                                     communicator_, Abi::status_ignore());
        if (code != mpi::success) [[unlikely]]
            calls_.check(code, "MPI_Recv", part.arguments());
    }

    void all_at_once(const StepRange& span) {
        post(span);
        wait_for(span);
    }

    void post(const StepRange& span) {
        auto* request = requests_.data();
        page_.enter(post_);
        for (std::size_t i = span.begin; i < span.receives_end; ++i) {
            const auto& part = parts_[i];
            const int code = calls_.irecv(part.address, part.count, part.type, part.peer, tag,
                                          communicator_, request++);
            if (code != mpi::success) calls_.check(code, "MPI_Irecv", part.arguments());
        }
        for (std::size_t i = span.receives_end; i < span.end; ++i) {
            const auto& part = parts_[i];
            const int code = calls_.isend(part.address, part.count, part.type, part.peer, tag,
                                          communicator_, request++);
            if (code != mpi::success) calls_.check(code, "MPI_Isend", part.arguments());
        }
    }

    void wait_for(const StepRange& span) {
        page_.enter(wait_);
        const auto count = static_cast<int>(span.end - span.begin);
        const int code = calls_.waitall(count, requests_.data(), Abi::statuses_ignore());
        if (code != mpi::success)
            calls_.check(code, "MPI_Waitall", std::to_string(count) + " requests");
    }

    const mpi::Calls<Abi>& calls_;
    typename Abi::Comm communicator_;
    Page& page_;
    Preparation& preparation_;
    std::vector<StepRange> spans_;
    std::vector<Part<Abi>> parts_;
    std::vector<typename Abi::Request> requests_;
    std::vector<std::unique_ptr<mpi::Message<Abi>>> messages_;
    bool posted_ = false;
    CallId send_, receive_, post_, wait_;
};

class MpiTransport final : public StepTransport {
  public:
    explicit MpiTransport(Context& context)
        : StepTransport(context),
          largest_(context.number("largest-count", mpi::largest_count, 1, mpi::largest_count)),
          piece_(std::min(mpi::piece, largest_)), lists_(context.option("lists", "loop")) {
        if (lists_ != "loop" && lists_ != "datatype" && lists_ != "packed")
            throw Error("lists go by loop, datatype or packed, not by " + lists_);
        mpi::world();
    }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        preparation_ = {};
        if (lists_ == "packed" ||
            std::any_of(steps.begin(), steps.end(), [](const Step& s) { return s.has_work(); }))
            return preparation_.noted(StepTransport::compile(steps, buffers));
        std::vector<std::unique_ptr<Action>> iteration;
        iteration.push_back(op_list(steps, buffers));
        return preparation_.noted(std::make_unique<HostProgram>(context_.page, std::move(iteration),
                                                                align(), details_of(steps)));
    }

    /// Beyond the count that an int holds (message.hpp).
    std::string details_of(std::span<const Step> steps) const override {
        const auto long_one = [this](const Transfer& each) { return each.bytes > largest_; };
        const auto has_long = [&](const Step& step) {
            return std::ranges::any_of(step.sends, long_one) ||
                   std::ranges::any_of(step.receives, long_one);
        };
        return std::ranges::any_of(steps, has_long) ? "\"sent_as\": \"a derived datatype\"" : "";
    }

    std::unique_ptr<Program> compile_collective(const Collective& collective,
                                                const Buffers& buffers) override {
        std::vector<std::unique_ptr<Action>> iteration;
        iteration.push_back(mpi::make_collective(context_.page, collective, buffers, largest_));
        return std::make_unique<HostProgram>(context_.page, std::move(iteration), align());
    }

    std::unique_ptr<Action> compile_step(const Step& step, const Buffers& buffers) override {
        const auto of_list = [](const Transfer& transfer) { return transfer.list != 0; };
        if (lists_ == "packed" &&
            (std::any_of(step.sends.begin(), step.sends.end(), of_list) ||
             std::any_of(step.receives.begin(), step.receives.end(), of_list)))
            return std::make_unique<PackedStep>(context_.device, context_.page, step, buffers,
                                                preparation_,
                                                [&](const Step& messages, const Buffers& packed) {
                                                    return op_list({&messages, 1}, packed);
                                                });
        return op_list({&step, 1}, buffers);
    }

    bool by_address() const override { return true; }
    std::unique_ptr<StartLine> align() override { return wirespeed::align(context_); }

    std::string describe() const override {
        const std::string layer = mpi::openmpi_layer();
        return std::string("\"abi\": \"") + mpi::world_abi() + "\"" +
               (layer.empty() ? "" : ", \"pml\": " + json_text(layer));
    }

  private:
    std::unique_ptr<Action> op_list(std::span<const Step> steps, const Buffers& buffers) {
        return std::visit(
            [&](auto& world) -> std::unique_ptr<Action> {
                using Abi = typename std::decay_t<decltype(world)>::abi;
                auto made = std::make_unique<OpList<Abi>>(world, context_.page, preparation_);
                for (const auto& step : steps)
                    made->add(step, buffers, largest_, piece_, lists_ == "datatype");
                return made;
            },
            mpi::world());
    }

    std::size_t largest_, piece_;
    std::string lists_;
    Preparation preparation_;  ///< of the program that is made
};

const AddTransport add_mpi{"mpi", open_as<MpiTransport>};

}  // namespace
}  // namespace wirespeed
