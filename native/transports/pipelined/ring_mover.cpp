#include "transports/pipelined/ring_mover.hpp"

#include <algorithm>

#include "core/reached.hpp"

namespace wirespeed::pipelined {
namespace {

/// Chunks enqueued in one go, before the other movers of the step have their turn.
constexpr std::size_t burst = 4;

bool empty(const std::vector<Chunk>& chunks) {
    return std::none_of(chunks.begin(), chunks.end(), [](const Chunk& c) { return c.bytes > 0; });
}

}  // namespace

RingMover::RingMover(Context& context, ChunkRing& ring, RingSide direction,
                     std::vector<Chunk> chunks, By by)
    : Mover(context.page.name(direction == RingSide::send ? "send through a pinned ring"
                                                          : "receive through a pinned ring"),
            ring.peer),
      device_(context.device), ring_(ring), direction_(direction), chunks_(std::move(chunks)),
      by_(empty(chunks_) ? By::host : by) {
    const bool sends = direction == RingSide::send;
    gates_ = sends ? ring.freed : ring.filled;
    gates_on_device_ = sends ? ring.freed_on_device : ring.filled_on_device;
    signals_ = sends ? ring.filled : ring.freed;
    signals_on_device_ = sends ? ring.filled_on_device : ring.freed_on_device;
    at_once_ = by_ == By::host && chunks_.size() == 1;
    streams_ = std::min(chunks_.size(), ring.streams.size());
    // Enough for the CPU to be late, and so little that no driver's queue is ever full: then it
    // would block.
    window_ = by_ == By::host ? ring.count : 2 * std::size_t{ring.count};
}

bool RingMover::progress() {
    pass();
    const std::size_t most = std::min({chunks_.size(), passed_ + window_, next_ + burst});
    while (next_ < most && enqueue(next_)) ++next_;
    return next_ == chunks_.size() && ended();
}

bool RingMover::enqueue(std::size_t chunk) {
    const std::size_t at = place(chunk);
    if (!reached(gates_[at].value, opens_at(chunk))) {
        if (by_ == By::host) return false;
        stream(chunk).wait_value(&gates_on_device_[at].value, opens_at(chunk));
        begun_ = chunk + 1;
    }
    copy(chunk);
    if (told_by_stream(chunk))
        stream(chunk).write_value(&signals_on_device_[at].value, turn(chunk));
    return true;
}

void RingMover::copy(std::size_t chunk) {
    const auto [address, bytes] = chunks_[chunk];
    if (bytes == 0) return;
    std::byte* const slot = ring_.slot(number(chunk));
    std::byte* const to = direction_ == RingSide::send ? slot : address;
    std::byte* const from = direction_ == RingSide::send ? address : slot;
    if (at_once_)
        device_.copy(to, from, bytes);
    else
        stream(chunk).copy(to, from, bytes);
    if (by_ == By::host && !at_once_) ring_.ends[place(chunk)]->record();
}

/// Counts the chunks that are copied; where the CPU hands over, tells the peer.
void RingMover::pass() {
    while (passed_ < next_) {
        std::uint32_t& signal = signals_[place(passed_)].value;
        if (by_ == By::host) {
            if (!at_once_ && chunks_[passed_].bytes > 0 && !ring_.ends[place(passed_)]->reached())
                return;
            raise(signal, turn(passed_));
        } else if (!told_by_stream(passed_) || !reached(signal, turn(passed_))) {
            return;
        }
        ++passed_;
    }
}

bool RingMover::ended() {
    if (by_ == By::host) {
        pass();
        if (passed_ < chunks_.size()) return false;
    } else {
        for (std::size_t i = 0; i < streams_; ++i)
            if (!ring_.streams[i]->done()) return false;
        for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk)
            if (!told_by_stream(chunk)) raise(signals_[place(chunk)].value, turn(chunk));
    }
    ring_.moved += chunks_.size();
    return true;
}

void RingMover::abandon() noexcept {
    for (std::size_t chunk = 0; chunk < begun_; ++chunk)
        if (!reached(gates_[place(chunk)].value, opens_at(chunk)))
            raise(gates_[place(chunk)].value, opens_at(chunk));
}

}  // namespace wirespeed::pipelined
