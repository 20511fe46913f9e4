#include "transports/gpu/play.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <tuple>

#include "core/error.hpp"
#include "measure/clock.hpp"

namespace wirespeed {
namespace {

/// One send and one receive: the commonest program has kernels of its own.
bool is_pair(const Script& script) {
    const auto& [steps, moves] = std::tie(script.steps, script.moves);
    if (script.guarded || moves.size() != 2 || moves[0].sends == moves[1].sends) return false;
    for (const auto& each : moves)
        if (each.move.mine % sizeof(u32) != 0) return false;
    // A step without transfers before them would be taken for the first.
    return steps.size() == 1 || (steps.size() == 2 && steps[0].sends + steps[0].receives == 1);
}

struct Launch {
    std::string kernel;
    unsigned threads;
};

Launch launch_for(const Method& method, const Script& script) {
    static constexpr const char* names[] = {"packets", "stores", "bulk", "pull", "bulk_pull"};
    const std::string name = names[method.way];
    if (!is_pair(script)) return {"ws_play_" + name, method.threads};
    const u32 most = std::max(script.moves[0].move.packets, script.moves[1].move.packets);
    if (method.way == ws_packets && most == 1) return {"ws_pair_packet", 1};
    if (method.way == ws_packets && most <= method.threads)
        return {method.threads == 32 ? "ws_pair_warp" : "ws_pair_short", method.threads};
    return {"ws_pair_" + name, method.threads};
}

/// The kernel tells that it goes on with each stamp: a sample of a great many rounds is stamped in
/// equal parts, each of well below a second. One of prime numbers of rounds stays whole.
int part_of(int rounds, const Script& script) {
    constexpr u64 bytes = u64{1} << 32, most = u64{1} << 17, short_message = 16 << 10;
    u64 round = short_message;
    for (const auto& each : script.moves) round += each.move.bytes;
    const int limit = static_cast<int>(std::clamp<u64>(bytes / round, 1, most));
    for (int part = std::min(limit, rounds); 64 * part >= limit; --part)
        if (rounds % part == 0) return part;
    return rounds;
}

/// The words that kernel and host share while the kernel runs, in pinned memory.
struct HostWords {
    u64 progress;
    u64 stop;
};

constexpr double agreement = 1.02, slack = 100e-6;
constexpr double long_enough = 10e-3;
constexpr double spin_seconds = 2e-3;
constexpr double tell_seconds = 20e-3;
constexpr u64 stale_limit = u64{1} << 30;

}  // namespace

std::string Method::text() const {
    static constexpr const char* names[] = {"packets", "stores", "bulk", "pull", "bulk-pull"};
    return names[way];
}

PlayProgram::PlayProgram(Context& context, Inbox& inbox, Counts& counts, Script script,
                         Method method, GpuClock clock)
    : context_(context), inbox_(inbox), counts_(counts), script_(std::move(script)),
      method_(method), clock_(clock),
      playing_(context.page.name("GPU kernel that moves the rounds")),
      stream_(context.device.stream()),
      orders_(context.device, Memory::device,
              sizeof(WsPlay) + script_.steps.size() * sizeof(WsStep) +
                  script_.moves.size() * sizeof(WsMove) + script_.peers.size() * sizeof(WsPeer)),
      host_(context.device, Memory::pinned, sizeof(HostWords)),
      orders_here_(context.device, Memory::pinned, orders_.bytes()) {}

/// Words are compared by signed difference; those that the protocols of late have not raised must
/// not fall 2^31 behind. The peers cannot raise any meanwhile: they wait for this rank's launch.
void PlayProgram::raise_stale_words() {
    for (const int peer : script_.peers) {
        Count& count = counts_[static_cast<std::size_t>(peer)];
        if (count.stale < stale_limit) continue;
        inbox_.raise(peer, count.sent, count.received);
        count.stale = 0;
    }
}

/// Writes what the kernel reads: one block of bytes, which the stream copies to the device.
void PlayProgram::prepare(const Schedule& schedule) {
    const auto samples = static_cast<std::size_t>(schedule.samples);
    if (const auto size = (samples + 1) * sizeof(u64); stamps_.bytes() < size) {
        stamps_ = Allocation(context_.device, Memory::device, size);
        stamps_here_ = Allocation(context_.device, Memory::pinned, size);
    }
    std::byte* const bytes = orders_here_.address();
    std::size_t at = sizeof(WsPlay);
    const auto put = [&](const void* from, std::size_t size) {
        const auto address = reinterpret_cast<u64>(orders_.address() + at);
        if (size) std::memcpy(bytes + at, from, size);
        at += size;
        return address;
    };
    std::vector<WsMove> moves;
    for (const auto& [peer, sends, move] : script_.moves) {
        moves.push_back(move);
        const Count& count = counts_[static_cast<std::size_t>(peer)];
        moves.back().before = sends ? count.sent : count.received;
    }
    std::vector<WsPeer> peers;
    const int me = context_.control.rank();
    for (const int peer : script_.peers)
        peers.push_back({inbox_.start(peer, me), inbox_.start(me, peer),
                         2 * ++counts_[static_cast<std::size_t>(peer)].launches, 0});
    auto* const host = host_.address();
    WsPlay play{};
    play.moves = put(moves.data(), moves.size() * sizeof(WsMove));
    play.peers = put(peers.data(), peers.size() * sizeof(WsPeer));
    play.steps = put(script_.steps.data(), script_.steps.size() * sizeof(WsStep));
    play.stamps = reinterpret_cast<u64>(stamps_.address());
    play.progress = reinterpret_cast<u64>(host + offsetof(HostWords, progress));
    play.stop = reinterpret_cast<u64>(host + offsetof(HostWords, stop));
    play.lead_in = static_cast<u64>(schedule.lead_in);
    play.rounds_per_sample = static_cast<u64>(schedule.rounds_per_sample);
    play.samples = samples;
    play.step_count = static_cast<u32>(script_.steps.size());
    play.move_count = static_cast<u32>(moves.size());
    play.peer_count = static_cast<u32>(script_.peers.size());
    const u64 counters = reinterpret_cast<u64>(orders_.address() + offsetof(WsPlay, counters));
    play.finished = counters;
    play.gathered = counters + sizeof(u32);
    play.tell_after = static_cast<u64>(tell_seconds / clock_.tick);
    play.slots = script_.slots;
    play.slot_packets = script_.slot_packets;
    play.guarded = script_.guarded;
    play.place = method_.place;
    std::memcpy(bytes, &play, sizeof play);
    std::memset(host, 0, sizeof(HostWords));
    stream_->copy(orders_.address(), bytes, orders_.bytes());
}

void PlayProgram::run(const Schedule& schedule, std::span<double> seconds) {
    const auto rounds =
        static_cast<u64>(schedule.lead_in) +
        static_cast<u64>(schedule.rounds_per_sample) * static_cast<u64>(schedule.samples);
    if (script_.moves.empty()) {
        std::fill(seconds.begin(), seconds.end(), 0.0);
        return;
    }
    const int part = part_of(schedule.rounds_per_sample, script_);
    const int parts = schedule.rounds_per_sample / part;
    raise_stale_words();
    prepare({schedule.lead_in, part, schedule.samples * parts});
    void* orders = orders_.address();
    void* arguments[] = {&orders};
    const double began = now();
    const auto [kernel, threads] = launch_for(method_, script_);
    stream_->launch_resident(kernel, std::max(method_.blocks, method_.place + 1), threads,
                             arguments);
    const std::size_t count_of_stamps = seconds.size() * static_cast<std::size_t>(parts) + 1;
    stream_->copy(stamps_here_.address(), stamps_.address(), count_of_stamps * sizeof(u64));
    wait_for(rounds);
    const double took = now() - began;
    count(rounds);
    const std::span stamps(reinterpret_cast<const u64*>(stamps_here_.address()), count_of_stamps);
    check_clock(stamps, took);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        const u64* const first = &stamps[i * static_cast<std::size_t>(parts)];
        seconds[i] =
            clock_.tick * static_cast<double>(first[parts] - *first) / schedule.rounds_per_sample;
    }
    context_.page.leave();
}

/// The GPU's clock may not tell of more time than has passed here, nor go backwards. (It may tell
/// of less: the peer's kernel begins when it can. GpuTransport holds its pace against the host's.)
/// How much of the host's time it told of at best is recorded.
void PlayProgram::check_clock(std::span<const u64> stamps, double took) {
    if (!std::is_sorted(stamps.begin(), stamps.end()))
        throw Error("the GPU's clock went backwards while the kernel ran");
    const double told = clock_.tick * static_cast<double>(stamps.back() - stamps.front());
    if (told > agreement * took + slack)
        throw Error("the GPU's clock says " + std::to_string(told) +
                    " s for rounds that took the host " + std::to_string(took) + " s");
    if (took > long_enough) told_ = std::max(told_, told / took);
}

/// Until the kernel is at its end; the page shows how far it is.
void PlayProgram::wait_for(u64 rounds) {
    auto& host = *reinterpret_cast<HostWords*>(host_.address());
    const std::atomic_ref<u64> progress(host.progress);
    const int peer = script_.moves.front().peer;
    context_.page.enter(playing_, peer);
    context_.page.begin_round();
    const double began = now();
    double moved = began;
    u64 seen = 0;
    bool stopping = false;
    while (!stream_->done()) {
        const double time = now();
        if (const u64 done = progress.load(std::memory_order_relaxed); done != seen) {
            seen = done;
            moved = time;
            context_.page.begin_round();
        }
        // Whoever watches has been told by then, and has had time to end the job.
        const double limit = context_.page.layout().timeout.load();
        if (!stopping && limit > 0 && time - moved > 2 * limit + 5) {
            std::atomic_ref(host.stop).store(1, std::memory_order_release);
            stopping = true;
        }
        if (time - began > spin_seconds) {
            const timespec pause{0, 20000};
            nanosleep(&pause, nullptr);
        } else {
            sched_yield();
        }
    }
    if (stopping)
        throw Error("the GPU kernel waited in vain for rank " + std::to_string(peer) +
                    " and was told to end, somewhere in " + std::to_string(rounds) + " rounds");
}

void PlayProgram::count(u64 rounds) {
    for (const int peer : script_.peers) {
        Count& count = counts_[static_cast<std::size_t>(peer)];
        const u64 sent = rounds * script_.sent[static_cast<std::size_t>(peer)];
        const u64 received = rounds * script_.received[static_cast<std::size_t>(peer)];
        count.sent += static_cast<u32>(sent);
        count.received += static_cast<u32>(received);
        count.stale += std::max(sent, received);
    }
}

std::string PlayProgram::describe() const {
    return "\"method\": \"" + method_.text() + "\", \"blocks\": " + std::to_string(method_.blocks) +
           ", \"threads\": " + std::to_string(method_.threads) +
           ", \"place\": " + std::to_string(method_.place) +
           (told_ > 0 ? ", \"clock_told\": " + std::to_string(told_) : "");
}

}  // namespace wirespeed
