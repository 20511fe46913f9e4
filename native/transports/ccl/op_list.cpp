#include "transports/ccl/op_list.hpp"

#include "core/error.hpp"
#include "transports/local/soak_turn.hpp"

namespace wirespeed::ccl {
namespace {

constexpr const char* names[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
                                 "ncclAlltoAll",  "ncclBroadcast", "ncclReduce",
                                 nullptr};
constexpr Nccl::DataType types[] = {Nccl::fp32, Nccl::fp16, Nccl::bf16, Nccl::fp64, Nccl::int32};
constexpr Nccl::Op reductions[] = {Nccl::sum, Nccl::max, Nccl::min};

}  // namespace

OpList::OpList(Communicator& communicator, Page& page)
    : communicator_(communicator), page_(page), group_(page.name("ncclGroupEnd")),
      wait_(page.name("NCCL's stream")) {}

OpList::OpList(Communicator& communicator, Context& context, std::span<const Step> steps,
               const Buffers& buffers)
    : OpList(communicator, context.page) {
    for (const auto& step : steps) {
        const std::size_t begin = parts_.size();
        for (const auto& transfer : step.receives) add(transfer, buffers.receive, false);
        for (const auto& transfer : step.sends) add(transfer, buffers.send, true);
        if (!step.has_work()) {
            close_group(begin);
            continue;
        }
        const int peer = parts_.size() > begin ? parts_[begin].peer : -1;
        groups_.push_back({begin, parts_.size(), peer, step.meanwhile, step.after, step.work_lags});
        if (step.meanwhile.empty()) continue;
        short_soak_ =
            short_soak_ && step.work_lags && soak_turn(step.meanwhile) && has_short_messages(step);
        if (beside_) continue;
        beside_ = std::make_shared<Beside>();
        beside_->stream = context.device.stream();
        beside_->begun = communicator.stream().event(false);
        beside_->done = beside_->stream->event(false);
    }
}

OpList::OpList(Communicator& communicator, Page& page, const Collective& collective,
               const Buffers& buffers)
    : OpList(communicator, page) {
    const char* const name = names[collective.operation];
    if (!name) throw Unavailable("NCCL has no call for this operation");
    if (collective.operation == Collective::alltoall && !communicator.calls().all_to_all)
        throw Unavailable("NCCL " + communicator.version() +
                          " has no ncclAlltoAll; NCCL 2.28 and newer have");
    if (collective.operation == Collective::alltoall && collective.in_place)
        throw Unavailable("ncclAlltoAll takes two buffers (--in-place no)");
    collective_ = collective;
    from_ = buffers.send + collective.from;
    to_ = buffers.send + collective.to;
    group_ = page.name(name);
}

OpList OpList::barrier(Communicator& communicator, Page& page) {
    OpList op_list(communicator, page);
    const int rank = communicator.rank(), size = communicator.size();
    // Dissemination: each turn doubles how many ranks one knows to have arrived.
    for (int distance = 1; distance < size; distance *= 2) {
        const std::size_t begin = op_list.parts_.size();
        op_list.add({(rank - distance + size) % size, 0, 0}, nullptr, false);
        op_list.add({(rank + distance) % size, 0, 0}, nullptr, true);
        op_list.close_group(begin);
    }
    return op_list;
}

void OpList::add(const Transfer& transfer, std::byte* base, bool sends) {
    if (transfer.bytes) {
        parts_.push_back({base + transfer.offset, transfer.bytes, transfer.peer, sends});
        return;
    }
    has_empty_messages_ = true;
    parts_.push_back({sends ? communicator_.nothing_out() : communicator_.nothing_in(), 1,
                      transfer.peer, sends});
}

void OpList::close_group(std::size_t begin) {
    if (parts_.size() > begin)
        groups_.push_back({begin, parts_.size(), parts_[begin].peer, {}, {}});
}

void OpList::enqueue_collective() {
    const Nccl::Calls& calls = communicator_.calls();
    const Nccl::Comm comm = communicator_.handle();
    void* const stream = communicator_.stream().native();
    const Collective& one = *collective_;
    const Nccl::DataType type = types[one.type];
    const Nccl::Op op = reductions[one.reduction];
    page_.enter(group_);
    const Nccl::Result code = [&] {
        switch (one.operation) {
            case Collective::allreduce:
                return calls.all_reduce(from_, to_, one.count, type, op, comm, stream);
            case Collective::allgather:
                return calls.all_gather(from_, to_, one.count, type, comm, stream);
            case Collective::reducescatter:
                return calls.reduce_scatter(from_, to_, one.count, type, op, comm, stream);
            case Collective::alltoall:
                return calls.all_to_all(from_, to_, one.count, type, comm, stream);
            case Collective::broadcast:
                return calls.broadcast(from_, to_, one.count, type, one.root, comm, stream);
            default:
                return calls.reduce(from_, to_, one.count, type, op, one.root, comm, stream);
        }
    }();
    if (code != Nccl::success) [[unlikely]]
        communicator_.check(code, names[one.operation],
                            std::to_string(one.count) + " " + one.type_name());
}

void OpList::enqueue() {
    if (collective_) return enqueue_collective();
    Stream& stream = communicator_.stream();
    for (const Group& group : groups_) {
        // Libraries see no order in a stream that is not the vendor's: neither earlier work nor its
        // own.
        if (!stream.native()) stream.wait();
        // A short turn of a soak costs less in this stream than beside it.
        if (short_soak_) wirespeed::enqueue(stream, group.meanwhile);
        const bool beside = !short_soak_ && !group.meanwhile.empty();
        if (beside) beside_->begun->record();
        if (group.end > group.begin) transfer(group);
        if (beside) {
            join();
            work_beside(group);
            if (!group.lags) join();
        }
        wirespeed::enqueue(stream, group.after);
    }
}

/// Put in after the transfers: NCCL's kernel finds room before the work fills the device.
void OpList::work_beside(const Group& group) {
    beside_->stream->wait_for(*beside_->begun);
    wirespeed::enqueue(*beside_->stream, group.meanwhile);
    beside_->done->record();
    beside_->joined = false;
}

void OpList::join() {
    if (!beside_ || beside_->joined) return;
    communicator_.stream().wait_for(*beside_->done);
    beside_->joined = true;
}

void OpList::transfer(const Group& group) {
    const Nccl::Calls& calls = communicator_.calls();
    const Nccl::Comm comm = communicator_.handle();
    void* const stream = communicator_.stream().native();
    page_.enter(group_, group.peer);
    communicator_.check(calls.group_start(), "ncclGroupStart");
    Nccl::Result code = Nccl::success;
    std::size_t at = group.begin;
    for (; at < group.end && code == Nccl::success; ++at) {
        const Part& part = parts_[at];
        code = part.sends
                   ? calls.send(part.address, part.bytes, Nccl::byte, part.peer, comm, stream)
                   : calls.receive(part.address, part.bytes, Nccl::byte, part.peer, comm, stream);
    }
    // A group once begun is ended, or every later call would only be added to it.
    const Nccl::Result end = calls.group_end();
    if (code != Nccl::success) [[unlikely]] {
        const Part& part = parts_[at - 1];
        communicator_.check(
            code, part.sends ? "ncclSend" : "ncclRecv",
            std::to_string(part.bytes) + " bytes, peer " + std::to_string(part.peer));
    }
    communicator_.check(end, "ncclGroupEnd");
}

void OpList::wait() {
    page_.enter(wait_, last_peer());
    communicator_.wait([&] { return communicator_.stream().done(); });
}

}  // namespace wirespeed::ccl
