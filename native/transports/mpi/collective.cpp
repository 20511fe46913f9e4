#include "transports/mpi/collective.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "transports/mpi/world.hpp"

namespace wirespeed::mpi {
namespace {

constexpr const char* names[] = {"MPI_Allreduce", "MPI_Allgather", "MPI_Reduce_scatter_block",
                                 "MPI_Alltoall",  "MPI_Bcast",     "MPI_Reduce",
                                 "MPI_Barrier"};

template <class Abi> class MpiCollective final : public Action {
  public:
    MpiCollective(World<Abi>& world, Page& page, const Collective& collective,
                  const Buffers& buffers, std::size_t largest)
        : calls_(world.library), checks_(world.calls), communicator_(world.communicator),
          page_(page), one_(collective), from_(buffers.send + collective.from),
          to_(buffers.send + collective.to), largest_(largest), type_(type_of(collective)),
          op_(collective.reduction == Collective::sum   ? calls_.sum
              : collective.reduction == Collective::max ? calls_.max
                                                        : calls_.min),
          name_(names[collective.operation]), id_(page.name(name_)) {
        if (collective.in_place && collective.operation == Collective::reducescatter)
            throw Unavailable(
                "MPI_Reduce_scatter_block in place leaves every result in the first "
                "block, not in the rank's own: measure it with --in-place no");
        if (!in_pieces() && count_ > largest)
            throw Unavailable(std::string(name_) + " takes at most " + std::to_string(largest) +
                              " elements for each rank, not " + std::to_string(count_) +
                              ": measure smaller sizes, or a wider type");
    }

    void run() override {
        page_.enter(id_);
        std::size_t done = 0;
        do {
            const std::size_t now = std::min(count_ - done, largest_);
            const int code = call(done * unit_, static_cast<int>(now));
            if (code != success) [[unlikely]]
                checks_.check(code, name_, std::to_string(now) + " " + one_.type_name());
            done += now;
        } while (done < count_);
    }

  private:
    using Datatype = typename Abi::Datatype;

    /// What MPI computes with; what is moved unchanged goes as bytes where MPI has no such type.
    Datatype type_of(const Collective& one) {
        count_ = one.count;
        unit_ = one.element_bytes();
        if (one.type == Collective::fp32) return calls_.fp32;
        if (one.type == Collective::fp64) return calls_.fp64;
        if (one.type == Collective::int32) return calls_.int32;
        if (one.reduces())
            throw Unavailable(std::string("MPI has no type ") + one.type_name() +
                              " to reduce: measure fp32, fp64 or int32");
        count_ *= unit_;
        unit_ = 1;
        return checks_.byte;
    }

    /// Is every element by itself? Else each rank has a block, at a place that follows from its
    /// size.
    bool in_pieces() const {
        return one_.operation == Collective::allreduce || one_.operation == Collective::reduce ||
               one_.operation == Collective::broadcast;
    }

    int call(std::size_t at, int count) {
        const bool gives_in_place =
            one_.in_place && (one_.operation != Collective::reduce || one_.gets);
        const void* const from = gives_in_place ? Abi::in_place() : from_ + at;
        std::byte* const to = to_ + at;
        switch (one_.operation) {
            case Collective::allreduce:
                return calls_.allreduce(from, to, count, type_, op_, communicator_);
            case Collective::allgather:
                return calls_.allgather(from, count, type_, to, count, type_, communicator_);
            case Collective::reducescatter:
                return calls_.reducescatter(from, to, count, type_, op_, communicator_);
            case Collective::alltoall:
                return calls_.alltoall(from, count, type_, to, count, type_, communicator_);
            case Collective::broadcast:
                return calls_.broadcast(one_.gets ? to : from_ + at, count, type_, one_.root,
                                        communicator_);
            case Collective::reduce:
                return calls_.reduce(from, to, count, type_, op_, one_.root, communicator_);
            default:
                return calls_.barrier(communicator_);
        }
    }

    CollectiveCalls<Abi> calls_;
    const Calls<Abi>& checks_;
    typename Abi::Comm communicator_;
    Page& page_;
    Collective one_;
    std::byte *from_, *to_;
    std::size_t count_ = 0, unit_ = 1, largest_;
    Datatype type_;
    typename Abi::Op op_;
    const char* name_;
    CallId id_;
};

}  // namespace

std::unique_ptr<Action> make_collective(Page& page, const Collective& collective,
                                        const Buffers& buffers, std::size_t largest) {
    return std::visit(
        [&](auto& opened) -> std::unique_ptr<Action> {
            using Abi = typename std::decay_t<decltype(opened)>::abi;
            return std::make_unique<MpiCollective<Abi>>(opened, page, collective, buffers, largest);
        },
        world());
}

}  // namespace wirespeed::mpi
