// MPI two-sided: the buffers are handed to MPI as they are. A step of one transfer is a blocking
// MPI_Send or MPI_Recv, as in the ping-pong tutorial; a step of several posts them all and waits.
#include "transports/transport.hpp"

#include "core/error.hpp"
#include "transports/mpi/message.hpp"
#include "transports/mpi/world.hpp"

namespace wirespeed {
namespace {

constexpr int tag = 17;

template <class Abi> struct Part {
    Part(mpi::World<Abi>& world, const Transfer& transfer, std::byte* base, std::size_t largest,
         std::size_t piece)
        : message(world.calls, transfer.bytes, largest, piece), address(base + transfer.offset),
          peer(transfer.peer), bytes(transfer.bytes) {}
    mpi::Message<Abi> message;
    std::byte* address;
    int peer;
    std::size_t bytes;

    std::string arguments() const {
        return std::to_string(bytes) + " bytes, peer " + std::to_string(peer);
    }
};

template <class Abi> class SendOne final : public Action {
  public:
    SendOne(mpi::World<Abi>& world, Page& page, std::unique_ptr<Part<Abi>> part)
        : world_(world), page_(page), part_(std::move(part)), call_(page.name("MPI_Send")) {}
    void run() override {
        page_.enter(call_, part_->peer);
        const int code = world_.calls.send(part_->address, part_->message.count(),
                                           part_->message.type(), part_->peer, tag,
                                           world_.communicator);
        if (code != mpi::success) world_.calls.check(code, "MPI_Send", part_->arguments());
    }

  private:
    mpi::World<Abi>& world_;
    Page& page_;
    std::unique_ptr<Part<Abi>> part_;
    CallId call_;
};

template <class Abi> class ReceiveOne final : public Action {
  public:
    ReceiveOne(mpi::World<Abi>& world, Page& page, std::unique_ptr<Part<Abi>> part)
        : world_(world), page_(page), part_(std::move(part)), call_(page.name("MPI_Recv")) {}
    void run() override {
        page_.enter(call_, part_->peer);
        const int code = world_.calls.recv(part_->address, part_->message.count(),
                                           part_->message.type(), part_->peer, tag,
                                           world_.communicator, Abi::status_ignore());
        if (code != mpi::success) world_.calls.check(code, "MPI_Recv", part_->arguments());
    }

  private:
    mpi::World<Abi>& world_;
    Page& page_;
    std::unique_ptr<Part<Abi>> part_;
    CallId call_;
};

template <class Abi> class AllAtOnce final : public Action {
  public:
    using Parts = std::vector<std::unique_ptr<Part<Abi>>>;
    AllAtOnce(mpi::World<Abi>& world, Page& page, Parts receives, Parts sends)
        : world_(world), page_(page), receives_(std::move(receives)), sends_(std::move(sends)),
          requests_(receives_.size() + sends_.size()), post_(page.name("MPI_Isend")),
          wait_(page.name("MPI_Waitall")) {}
    void run() override {
        const auto& calls = world_.calls;
        auto request = requests_.data();
        page_.enter(post_);
        for (const auto& part : receives_) {
            const int code = calls.irecv(part->address, part->message.count(), part->message.type(),
                                         part->peer, tag, world_.communicator, request++);
            if (code != mpi::success) calls.check(code, "MPI_Irecv", part->arguments());
        }
        for (const auto& part : sends_) {
            const int code = calls.isend(part->address, part->message.count(), part->message.type(),
                                         part->peer, tag, world_.communicator, request++);
            if (code != mpi::success) calls.check(code, "MPI_Isend", part->arguments());
        }
        page_.enter(wait_);
        const int code = calls.waitall(static_cast<int>(requests_.size()), requests_.data(),
                                       Abi::statuses_ignore());
        if (code != mpi::success)
            calls.check(code, "MPI_Waitall", std::to_string(requests_.size()) + " requests");
    }

  private:
    mpi::World<Abi>& world_;
    Page& page_;
    Parts receives_, sends_;
    std::vector<typename Abi::Request> requests_;
    CallId post_, wait_;
};

template <class Abi> class Align final : public Action {
  public:
    Align(mpi::World<Abi>& world, Page& page)
        : world_(world), page_(page), call_(page.name("MPI_Barrier")) {}
    void run() override {
        page_.enter(call_);
        world_.calls.check(world_.calls.barrier(world_.communicator), "MPI_Barrier");
    }

  private:
    mpi::World<Abi>& world_;
    Page& page_;
    CallId call_;
};

class MpiTransport final : public HostTransport {
  public:
    explicit MpiTransport(Context& context)
        : HostTransport(context),
          largest_(std::stoull(context.option("largest-count", std::to_string(mpi::largest_count)))),
          piece_(std::min(mpi::piece, largest_)) {
        mpi::world();
    }

    std::unique_ptr<Action> compile_step(const Step& step, const Buffers& buffers) override {
        return std::visit(
            [&](auto& world) { return compile_for(world, step, buffers); }, mpi::world());
    }

    std::unique_ptr<Action> align() override {
        return std::visit(
            [&](auto& world) -> std::unique_ptr<Action> {
                using Abi = typename std::decay_t<decltype(world)>::abi;
                return std::make_unique<Align<Abi>>(world, context_.page);
            },
            mpi::world());
    }

    std::string describe() const override {
        return std::string("\"abi\": \"") + mpi::world_abi() + "\"";
    }

  private:
    template <class Abi>
    std::unique_ptr<Action> compile_for(mpi::World<Abi>& world, const Step& step,
                                        const Buffers& buffers) {
        typename AllAtOnce<Abi>::Parts receives, sends;
        for (const auto& transfer : step.receives)
            receives.push_back(std::make_unique<Part<Abi>>(world, transfer, buffers.receive,
                                                           largest_, piece_));
        for (const auto& transfer : step.sends)
            sends.push_back(
                std::make_unique<Part<Abi>>(world, transfer, buffers.send, largest_, piece_));
        Page& page = context_.page;
        if (receives.empty() && sends.size() == 1)
            return std::make_unique<SendOne<Abi>>(world, page, std::move(sends[0]));
        if (sends.empty() && receives.size() == 1)
            return std::make_unique<ReceiveOne<Abi>>(world, page, std::move(receives[0]));
        return std::make_unique<AllAtOnce<Abi>>(world, page, std::move(receives), std::move(sends));
    }

    std::size_t largest_, piece_;
};

const AddTransport add{"mpi", [](Context& context) -> std::unique_ptr<Transport> {
                           return std::make_unique<MpiTransport>(context);
                       }};

}  // namespace
}  // namespace wirespeed
