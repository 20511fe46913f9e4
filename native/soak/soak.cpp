#include "soak/soak.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "core/error.hpp"
#include "measure/timed_loop.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

/// Bytes that a block of a check is worth its launch for.
constexpr std::size_t bytes_per_block = 16 << 10;
/// More of them would take the memory's speed from the transfers beside them.
constexpr unsigned most_blocks = 64, threads = 512;

std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/// Names the sender and the place in its buffer: several ranks may get the same message.
std::uint64_t base_of(int sender, std::size_t offset) {
    return mixed(mixed(static_cast<std::uint64_t>(sender) + 1) + offset);
}

std::uint64_t address(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

/// Can a message come before what lies in its place has been looked at twice? Not where this rank
/// sends in each iteration to all from whom it receives: a sender is then two iterations ahead at
/// most.
bool may_come_early(std::span<const Step> steps) {
    std::set<int> from, to;
    for (const Step& step : steps) {
        for (const Transfer& each : step.sends) to.insert(each.peer);
        for (const Transfer& each : step.receives) from.insert(each.peer);
    }
    return from != to;
}

Transfer shifted(Transfer transfer, std::size_t shift) {
    transfer.offset += shift;
    transfer.remote_offset += shift;
    return transfer;
}

}  // namespace

Soak::Soak(Transport& transport, Context& context, std::vector<Step> steps, const Buffers& buffers,
           std::size_t apart, const Program& timed, const PlantedFault& fault)
    : context_(context), buffers_(buffers), kind_(buffers.worked_on()), fault_(fault) {
    if (!on_host(kind_) && !context.device.has_kernels())
        throw Unavailable("a soak checks messages by kernels, and this device runs none");
    if (on_host(buffers.kind) != on_host(buffers.into))
        throw Unavailable(
            "a soak's messages are made and checked by one processor, and this path sends from "
            "memory of one and receives into memory of the other");
    const WsSoakFault planted = fault.state();
    // Every rank has as many steps, also one that has nothing to do in some of them.
    for (const std::size_t count : exchange(context.control, [&] { return steps.size(); }))
        if (count > steps.size()) steps.resize(count);
    const std::size_t round = ws_soak_places * steps.size();
    const bool gated = transport.takes_gated_work();
    buffers_.like = &timed;
    // By number of the step in a round that it follows: what a step has received is checked, and
    // what it has sent is refilled at once, so that a message is damaged whose sender was told too
    // early that it has left. One that its receiver fetches has left when the iteration after it is
    // over: all that send to this rank have ended their part of its own then.
    const std::uint64_t behind = timed.fetches() ? 2 : 0;
    std::vector<Turn> turns(round);
    for (std::size_t u = 0; u < round; ++u) {
        const Step& step = steps[u % steps.size()];
        const std::size_t iteration = u / steps.size(), place = iteration * apart;
        // Where turns follow by a step, the last one comes first once, before its step.
        const bool comes_first = !gated && u == round - 1;
        const std::uint64_t first = iteration - (comes_first ? ws_soak_places : 0);
        turns[u].first = places_.size();
        add_places(turns[u], step.receives, false, place, first);
        add_places(turns[u], step.sends, true,
                   (iteration + ws_soak_places - behind) % ws_soak_places * apart, first - behind);
    }
    for (std::size_t u = 0; u < round; ++u)
        for (std::uint64_t i = 0; i < turns[u].checks; ++i)
            places_[turns[u].first + i].before =
                turns[(u + round - steps.size()) % round].first + i;
    const std::size_t count = std::max<std::size_t>(places_.size(), 1);
    state_ = Allocation(context.device, kind_, sizeof(WsSoak));
    table_ = Allocation(context.device, kind_, count * sizeof(WsSoakPlace));
    looks_ = Allocation(context.device, kind_, 2 * count * sizeof(WsSoakLook));
    aside_ = fault.give_room(context.device, kind_, places_);
    if (!gated && round) last_turn_ = work_of(turns.back(), false);
    std::vector<Step> unrolled;
    for (std::size_t u = 0; u < round; ++u) {
        Step step;
        const std::size_t place = u / steps.size() * apart;
        for (const Transfer& each : steps[u % steps.size()].sends)
            step.sends.push_back(shifted(each, place));
        for (const Transfer& each : steps[u % steps.size()].receives)
            step.receives.push_back(shifted(each, place));
        if (gated)
            step.gated = work_of(turns[u], true);
        else
            step.meanwhile = work_of(turns[(u + round - 1) % round], false);
        step.work_lags = true;
        step.ends_work = u + 1 == round;  // so that its counts can be read
        unrolled.push_back(std::move(step));
    }
    const auto early = exchange(context.control, [&] { return may_come_early(steps); });
    buffers_.read_between = std::find(early.begin(), early.end(), true) != early.end();
    WsSoak state{};
    state.places = address(table_.address());
    state.looks = address(looks_.address());
    state.fault = planted;
    const auto reset = [&] {
        std::vector<WsSoakLook> looks(2 * count);
        for (WsSoakLook& each : looks) each.first = ~0ull;
        context.device.copy(state_.address(), &state, sizeof state);
        if (!places_.empty())
            context.device.copy(table_.address(), places_.data(),
                                places_.size() * sizeof(WsSoakPlace));
        context.device.copy(looks_.address(), looks.data(), looks.size() * sizeof(WsSoakLook));
        return true;
    };
    exchange(context.control, reset);
    program_ = transport.compile_with_work(unrolled, buffers_);
    // What tried it out has counted, too.
    exchange(context.control, [&] {
        reset();
        start();
        return true;
    });
}

void Soak::add_places(Turn& turn, std::span<const Transfer> transfers, bool sends,
                      std::size_t shift, std::uint64_t iteration) {
    const int me = context_.control.rank();
    for (const Transfer& transfer : transfers) {
        if (!transfer.bytes) continue;
        WsSoakPlace place{};
        place.at = address((sends ? buffers_.send : buffers_.receive) + transfer.offset + shift);
        place.bytes = transfer.bytes;
        place.base =
            sends ? base_of(me, transfer.offset) : base_of(transfer.peer, transfer.remote_offset);
        place.iteration = iteration;
        places_.push_back(place);
        peers_.push_back(transfer.peer);
        sends_.push_back(sends);
        turn.bytes += transfer.bytes;
        ++(sends ? turn.fills : turn.checks);
    }
}

/// `always`: also where a turn has nothing to do.
std::vector<Work> Soak::work_of(const Turn& turn, bool always) const {
    std::vector<Work> work;
    if (!always && turn.checks + turn.fills == 0) return work;
    const std::uint64_t state = address(state_.address());
    const auto blocks = static_cast<unsigned>(
        std::clamp<std::size_t>(turn.bytes / bytes_per_block, 1, most_blocks));
    const auto lanes =
        static_cast<unsigned>(std::clamp<std::size_t>(turn.bytes / 8 / 32 * 32, 32, threads));
    work.push_back(
        make_work("ws_soak_turn", blocks, lanes,
                  std::array<std::uint64_t, 5>{0, state, turn.first, turn.checks, turn.fills}));
    work.back().shared_bytes = turn.bytes;
    fault_.plant(work, state, turn.first, turn.checks);
    return work;
}

void Soak::start() {
    for (std::size_t i = 0; i < places_.size(); ++i)
        wirespeed::run(context_.device, kind_,
                       make_work("ws_soak_start", 1, threads,
                                 std::array<std::uint64_t, 3>{address(state_.address()), i,
                                                              sends_[i] ? 1u : 0u}));
}

double Soak::run(int rounds) {
    const double seconds = run_untimed(*program_, rounds) / static_cast<int>(ws_soak_places);
    iterations_ += ws_soak_places * static_cast<std::uint64_t>(rounds);
    return seconds;
}

void Soak::settle() {
    context_.device.copy(state_.address() + offsetof(WsSoak, fault.end), &iterations_,
                         sizeof iterations_);
    context_.control.barrier();
    run(1);
    context_.control.barrier();
    for (const Work& work : last_turn_) wirespeed::run(context_.device, kind_, work);
    wirespeed::run(
        context_.device, kind_,
        make_work("ws_soak_end", 1, threads,
                  std::array<std::uint64_t, 2>{address(state_.address()), places_.size()}));
}

SoakCounts Soak::counts() const {
    SoakCounts counts;
    counts.iterations = iterations_;
    context_.device.copy(&counts.state, state_.address(), sizeof counts.state);
    const std::uint64_t place = counts.state.first.place;
    if (place < peers_.size()) counts.sender = peers_[place];
    return counts;
}

}  // namespace wirespeed
