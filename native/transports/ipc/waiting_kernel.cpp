#include "transports/ipc/waiting_kernel.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <type_traits>

#include "core/error.hpp"
#include "core/reached.hpp"
#include "core/shared_words.hpp"
#include "transports/local/copy_grid.hpp"

namespace wirespeed::ipc {
namespace {

constexpr const char *copies = "ws_wait_and_copy", *copies_and_checks = "ws_wait_copy_and_check";
constexpr std::uint64_t spins_before_look = 1000;
/// Far longer than a launch takes, and a busy host to go on after it.
constexpr double probe_seconds = 2;
/// Where nobody asks for the kernel, a host too busy to see it in time goes without.
constexpr std::chrono::milliseconds sign_of_life{200}, patient_sign_of_life{2000};

}  // namespace

struct WaitingKernel::Words {
    alignas(cache_line) std::uint32_t doorbell;
    alignas(cache_line) std::uint32_t done;
};

bool WaitingKernel::can_wait(Context& context) {
    Device& device = context.device;
    if (!device.has_kernels() || device.clock_rate() <= 0) return false;
    try {
        const int me = context.control.rank();
        const std::vector<std::uint32_t> none(static_cast<std::size_t>(context.control.size()));
        const Allocation word(device, Memory::pinned, sizeof(std::uint32_t));
        WaitingKernel kernel(context, none);
        kernel.add(me, nullptr, nullptr, 0, reinterpret_cast<std::uint32_t*>(word.address()));
        kernel.load();
        kernel.launch(1, probe_seconds);
        kernel.ring(me, 1);
        // A driver may put off a launch until it is called again: then the host would wait for
        // ever.
        const bool asked_for = context.option("copy", "auto") == "waiting-kernel";
        const auto limit =
            std::chrono::steady_clock::now() + (asked_for ? patient_sign_of_life : sign_of_life);
        while (!reached(kernel.words(0).done, 1) && std::chrono::steady_clock::now() < limit)
            sched_yield();
        const bool runs_beside = reached(kernel.words(0).done, 1);
        kernel.end();
        return runs_beside;
    } catch (const std::exception&) {
        return false;
    }
}

bool WaitingKernel::can_carry(Device& device, std::span<const Step> steps) {
    std::map<int, std::size_t> transfers;
    std::size_t turns = 0, places = 0;
    for (const Step& step : steps) {
        const auto turn = soak_turn(step.meanwhile);
        if (!step.after.empty() || !step.gated.empty() || (!turn && !step.meanwhile.empty()) ||
            (turn && !has_short_messages(step)))
            return false;
        turns += turn.has_value();
        if (turn) places += turn->checks + turn->fills;
        for (const Transfer& transfer : step.sends) ++transfers[transfer.peer];
    }
    return transfers.size() <= most_peers && transfers.size() < device.resident_blocks() &&
           turns <= WS_NEAR && places <= WS_NEAR &&
           std::ranges::all_of(
               transfers,
               [](const auto& each) { return each.second <= WS_MOST_WAITING_TRANSFERS; });
}

WaitingKernel::WaitingKernel(Context& context, const std::vector<std::uint32_t>& sent)
    : context_(context), sent_(sent) {}

void WaitingKernel::add(int peer, std::byte* to, std::byte* from, std::size_t bytes,
                        std::uint32_t* arrived) {
    auto found = std::ranges::find(peers_, peer, &Peer::rank);
    if (found == peers_.end()) {
        found = peers_.insert(found, {peer, 0, {}, {}});
        found->described.arrived = reinterpret_cast<std::uint64_t>(arrived);
    }
    found->largest = std::max(found->largest, bytes);
    found->transfers.push_back(
        {reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from), bytes});
}

void WaitingKernel::add_turn(const SoakTurn& turn) {
    WsStep step{};
    step.soak_first = turn.first;
    step.soak_checks = turn.checks;
    step.soak_fills = turn.fills;
    turns_.push_back(step);
    soak_ = turn.state;
}

void WaitingKernel::load() {
    if (peers_.empty() && turns_.empty()) return;
    Device& device = context_.device;
    device.load(turns_.empty() ? copies : copies_and_checks);
    stream_ = device.stream();
    on_host_ = Allocation(device, Memory::pinned, (peers_.size() + 1) * sizeof(Words) + cache_line);
    std::size_t largest = 0, transfers = 0;
    for (const Peer& peer : peers_) {
        largest = std::max(largest, peer.largest);
        transfers += peer.transfers.size();
    }
    const auto peers = static_cast<unsigned>(peers_.size());
    const CopyGrid grid =
        copy_grid(largest, (device.resident_blocks() - !turns_.empty()) / std::max(peers, 1u));
    blocks_ = grid.blocks * peers + !turns_.empty();
    threads_ = grid.threads;

    counters_ = peers_.size() * sizeof(WsWaitingPeer) + transfers * sizeof(WsWaitingTransfer);
    turns_at_ = counters_ + peers_.size() * cache_line;
    std::vector<std::byte> bytes(turns_at_ + sizeof(WsWaitingTurns) +
                                 turns_.size() * sizeof(WsStep));
    on_device_ = Allocation(device, Memory::device, bytes.size());
    const auto base = reinterpret_cast<std::uint64_t>(on_device_.address());
    std::size_t at = peers_.size() * sizeof(WsWaitingPeer);
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Words* const words = new (on_host_.address() + i * sizeof(Words)) Words{};
        auto& [rank, size, described, list] = peers_[i];
        described.doorbell = reinterpret_cast<std::uint64_t>(&words->doorbell);
        described.done = reinterpret_cast<std::uint64_t>(&words->done);
        described.counters = base + counters_ + i * cache_line;
        described.transfers = base + at;
        described.transfer_count = static_cast<std::uint32_t>(list.size());
        std::memcpy(&bytes[i * sizeof described], &described, sizeof described);
        std::memcpy(&bytes[at], list.data(), list.size() * sizeof list[0]);
        at += list.size() * sizeof list[0];
    }
    Words* const words = new (on_host_.address() + peers_.size() * sizeof(Words)) Words{};
    const std::size_t steps_at = turns_at_ + sizeof(WsWaitingTurns);
    const WsWaitingTurns turns{soak_,
                               base + steps_at,
                               reinterpret_cast<std::uint64_t>(&words->doorbell),
                               reinterpret_cast<std::uint64_t>(&words->done),
                               static_cast<std::uint32_t>(turns_.size()),
                               0};
    std::memcpy(&bytes[turns_at_], &turns, sizeof turns);
    if (!turns_.empty())
        std::memcpy(&bytes[steps_at], turns_.data(), turns_.size() * sizeof turns_[0]);
    device.copy(on_device_.address(), bytes.data(), bytes.size());
}

void WaitingKernel::begin(std::uint64_t iterations) {
    if (peers_.empty() && turns_.empty()) return;
    // By then the front end has long been told that the rank hangs.
    const double limit = context_.page.layout().timeout.load();
    launch(iterations, limit > 0 ? 2 * limit + 15 : 0);
}

void WaitingKernel::launch(std::uint64_t iterations, double patience) {
    const double rate = context_.device.clock_rate();
    const std::uint64_t ticks =
        patience > 0 ? static_cast<std::uint64_t>(patience * rate) : ~std::uint64_t{0};
    if (stopped_) {
        const std::vector<std::byte> zeros(peers_.size() * cache_line);
        context_.device.copy(on_device_.address() + counters_, zeros.data(), zeros.size());
        stopped_ = false;
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        const std::uint32_t before = sent_[static_cast<std::size_t>(peers_[i].rank)];
        raise(words(i).doorbell, before);
        raise(words(i).done, before);
    }
    raise(words(peers_.size()).doorbell, 0);
    raise(words(peers_.size()).done, 0);
    rung_turns_ = 0;
    raise(*stop_word(), 0);
    const auto base = reinterpret_cast<std::uint64_t>(on_device_.address());
    std::uint64_t values[] = {base,       peers_.size(),
                              iterations, reinterpret_cast<std::uint64_t>(stop_word()),
                              ticks,      base + turns_at_};
    // The last one is taken by the kernel that checks.
    void* arguments[] = {&values[0], &values[1], &values[2], &values[3], &values[4], &values[5]};
    // Its blocks wait for each other. No more than surely run at a time, on a GPU that no other
    // rank uses, they need no cooperative launch.
    stream_->launch(turns_.empty() ? copies : copies_and_checks, blocks_, threads_, arguments);
    runs_ = true;
}

void WaitingKernel::ring(int peer, std::uint32_t number) {
    raise(words(place_of(peer)).doorbell, number);
}

void WaitingKernel::wait(int peer, std::uint32_t number) {
    wait(words(place_of(peer)), number, "sent all to rank " + std::to_string(peer));
}

void WaitingKernel::ring_turn() { raise(words(peers_.size()).doorbell, ++rung_turns_); }

void WaitingKernel::wait_for_turns(std::uint32_t but) {
    wait(words(peers_.size()), rung_turns_ - std::min(but, rung_turns_), "checked all messages");
}

void WaitingKernel::wait(Words& words, std::uint32_t number, const std::string& for_what) {
    for (std::uint64_t spins = 0; !reached(words.done, number); ++spins) {
        if (spins < spins_before_yield) continue;
        sched_yield();
        if (spins % spins_before_look == 0 && stream_->done() && !reached(words.done, number))
            throw Error("the kernel that waits for the host's word ended before it had " +
                        for_what);
    }
}

void WaitingKernel::end() {
    if (!runs_) return;
    stream_->wait();
    runs_ = false;
}

void WaitingKernel::stop() noexcept {
    if (!runs_) return;
    raise(*stop_word(), 1);
    stopped_ = true;
    runs_ = false;
    try {
        stream_->wait();
    } catch (const std::exception&) {
        // The error that led here is the one to tell.
    }
}

std::size_t WaitingKernel::place_of(int peer) const {
    return static_cast<std::size_t>(std::ranges::find(peers_, peer, &Peer::rank) - peers_.begin());
}

WaitingKernel::Words& WaitingKernel::words(std::size_t place) const {
    return *std::launder(reinterpret_cast<Words*>(on_host_.address() + place * sizeof(Words)));
}

std::uint32_t* WaitingKernel::stop_word() const {
    return reinterpret_cast<std::uint32_t*>(on_host_.address() +
                                            (peers_.size() + 1) * sizeof(Words));
}

namespace {

class ProgramWithKernel final : public WrappedProgram {
  public:
    ProgramWithKernel(std::unique_ptr<Program> program, std::shared_ptr<WaitingKernel> kernel)
        : WrappedProgram(std::move(program)), kernel_(std::move(kernel)) {}

    void begin(const Schedule& schedule) override {
        or_stop([&] { WrappedProgram::begin(schedule); });
    }
    Stamps settle() override {
        return or_stop([&] { return WrappedProgram::settle(); });
    }

  private:
    void before(const Schedule& schedule) override { kernel_->begin(schedule.iterations()); }
    void after(Stamps&) override { kernel_->end(); }

    template <class Body> std::invoke_result_t<Body> or_stop(Body body) {
        try {
            return body();
        } catch (...) {
            kernel_->stop();
            throw;
        }
    }

    std::shared_ptr<WaitingKernel> kernel_;
};

}  // namespace

std::unique_ptr<Program> with_waiting_kernel(std::unique_ptr<Program> program,
                                             std::shared_ptr<WaitingKernel> kernel) {
    return std::make_unique<ProgramWithKernel>(std::move(program), std::move(kernel));
}

}  // namespace wirespeed::ipc
