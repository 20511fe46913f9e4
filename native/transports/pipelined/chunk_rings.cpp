#include "transports/pipelined/chunk_rings.hpp"

#include <array>

#include "core/error.hpp"
#include "core/reached.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed::pipelined {
namespace {

/// Of MPI's rings, where each stream has one chunk and the CPU may come late.
constexpr std::size_t streams_of_messages = 4;

}  // namespace

Options::Options(const Context& context) {
    if (!context.option("chunk", "").empty()) chunk = context.number("chunk", 0, 1, chunk_limit);
    slots = static_cast<unsigned>(context.number("slots", slots, 2, 64));
    streams = static_cast<unsigned>(context.number("streams", streams, 1, 8));
    const std::string word = context.option("by", "auto");
    automatic = word == "auto";
    if (word == "streams")
        by = By::streams;
    else if (word != "host" && !automatic)
        throw Error("transport option by is auto, streams or host, not '" + word + "'");
    const std::string yes = context.option("shared", "yes");
    if (yes != "yes" && yes != "no")
        throw Error("transport option shared is yes or no, not '" + yes + "'");
    shared = yes == "yes";
    if (chunk && rounded_up(chunk) * slots > most_pinned)
        throw Error(std::to_string(slots) + " slots of " + std::to_string(chunk) +
                    " bytes are more than the " + std::to_string(most_pinned) + " to be pinned");
}

PairSet::PairSet(Control& control, std::span<const Step> steps) : ranks_(control.size()) {
    const auto ranks = static_cast<std::size_t>(ranks_);
    std::vector<char> mine(ranks, 0);
    for (const auto& step : steps)
        for (const auto& transfer : step.receives)
            mine.at(static_cast<std::size_t>(transfer.peer)) = 1;
    there_.resize(ranks * ranks);
    control.allgather(mine.data(), there_.data(), ranks);
}

bool PairSet::covers(const PairSet& others) const {
    for (std::size_t i = 0; i < there_.size(); ++i)
        if (others.there_[i] && !there_[i]) return false;
    return true;
}

void PairSet::add(const PairSet& others) {
    for (std::size_t i = 0; i < there_.size(); ++i) there_[i] |= others.there_[i];
}

ChunkRings::ChunkRings(Context& context, const Options& options, PairSet pairs,
                       std::vector<bool> here)
    : context_(context), options_(options), pairs_(std::move(pairs)), here_(std::move(here)),
      me_(context.control.rank()) {
    int shared = 0, most = 1;
    for (const auto& each : exchange(context.control, [&] { return counts(); })) {
        shared = std::max(shared, each.incoming_shared);
        most = std::max(most, each.incoming_shared + each.messages);
        any_shared_ |= each.incoming_shared > 0;
        any_messages_ |= each.messages > 0;
    }
    slot_bytes_ = options.chunk ? options.chunk : most_chunk;
    while (slot_bytes_ > least_slot && ring_bytes() * static_cast<std::size_t>(most) > most_pinned)
        slot_bytes_ /= 2;
    if (any_shared_) share(context.control, static_cast<std::size_t>(shared));
    // The worst of all ranks: what the record says shall hold for each of them.
    for (const auto& why : exchange(context.control, [&] {
             for (int peer = 0; peer < pairs_.ranks(); ++peer) {
                 if (pairs_.has(me_, peer)) to_[peer] = open_ring(me_, peer, peer);
                 if (pairs_.has(peer, me_)) from_[peer] = open_ring(peer, me_, peer);
             }
             std::array<char, 160> text{};
             why_by_host_.copy(text.data(), text.size() - 1);
             return text;
         }))
        if (why[0] && why_by_host_.empty()) why_by_host_ = why.data();
}

ChunkRings::RingCounts ChunkRings::counts() const {
    RingCounts counts;
    for (int peer = 0; peer < pairs_.ranks(); ++peer) {
        const int in = pairs_.has(peer, me_), out = pairs_.has(me_, peer);
        if (shares(peer))
            counts.incoming_shared += in;
        else
            counts.messages += in + out;
    }
    return counts;
}

/// The words of all slots, then the slots.
std::size_t ChunkRings::ring_bytes() const {
    return word_bytes() + options_.slots * rounded_up(slot_bytes_);
}

/// Containers often have little shared memory: smaller slots are better than none.
void ChunkRings::share(Control& control, std::size_t rings) {
    while (true) {
        try {
            segments_ = share_segments(control, page + rings * ring_bytes());
            return;
        } catch (const Error&) {
            if (slot_bytes_ <= least_slot) throw;
            slot_bytes_ /= 2;
        }
    }
}

ChunkRing ChunkRings::open_ring(int from, int to, int peer) {
    ChunkRing ring;
    ring.peer = peer;
    ring.shared = shares(peer);
    ring.count = options_.slots;
    ring.stride = rounded_up(slot_bytes_);
    for (std::size_t i = 0; i < (ring.shared ? options_.streams : streams_of_messages); ++i)
        ring.streams.push_back(context_.device.stream());
    if (!ring.shared) {
        ring.own = Allocation(context_.device, Memory::pinned, ring.count * ring.stride);
        ring.slots = ring.own.address();
        pinned_bytes_ += ring.own.bytes();
        return ring;
    }
    for (unsigned i = 0; i < ring.count; ++i)
        ring.ends.push_back(ring.streams[i % ring.streams.size()]->event(false));
    // A ring lies with its receiver, behind the rings from lower ranks of the host.
    std::size_t offset = page;
    for (int other = 0; other < from; ++other)
        if (shares(other) && pairs_.has(other, to)) offset += ring_bytes();
    Segment& segment = segments_[static_cast<std::size_t>(to)];
    std::byte* const on_device = segment.pin(context_.device);
    ring.filled = reinterpret_cast<RingCounter*>(segment.address() + offset);
    ring.freed = ring.filled + ring.count;
    ring.filled_on_device = reinterpret_cast<RingCounter*>(on_device + offset);
    ring.freed_on_device = ring.filled_on_device + ring.count;
    ring.slots = on_device + offset + word_bytes();
    if (to == me_) pinned_bytes_ += ring_bytes();
    if ((options_.automatic || options_.by != By::host) && why_by_host_.empty())
        try_stream(*ring.streams[0], on_device);
    return ring;
}

/// Drivers and devices may lack what streams need to hand chunks over; then the CPU does it. All
/// who try write the same to the same word.
void ChunkRings::try_stream(Stream& stream, std::byte* segment) {
    auto* const word = &reinterpret_cast<RingCounter*>(segment)->value;
    try {
        stream.write_value(word, 1);
        stream.wait_value(word, 1);
        stream.wait();
    } catch (const Error& error) {
        why_by_host_ = error.what();
    }
}

}  // namespace wirespeed::pipelined
