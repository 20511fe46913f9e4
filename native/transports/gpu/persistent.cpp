#include "transports/gpu/persistent.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <span>

#include "core/error.hpp"
#include "core/shared_words.hpp"
#include "measure/clock.hpp"

namespace wirespeed {
namespace {

std::uint64_t bytes_of(const OpList& op_list) {
    std::uint64_t bytes = 0;
    for (const auto& each : op_list.ops) bytes += each.op.bytes;
    return bytes;
}

/// The words that kernel and host share while the kernel runs, in pinned memory.
struct HostWords {
    u64 progress;
    u64 stop;
};

constexpr double spin_seconds = 2e-3;
constexpr double show_seconds = 20e-3;
constexpr u64 stale_limit = u64{1} << 30;

/// Each block's word at the grid's barriers, in one cache line where they fit it.
constexpr std::size_t barrier_bytes = Tuning::most_blocks * sizeof(u32);

/// Of what kernels that fold read beside the program.
std::size_t bytes_of(const FoldPlan* plan) {
    if (!plan) return 0;
    return sizeof(WsFolds) + plan->steps.size() * sizeof(WsFoldStep) +
           plan->folds.size() * sizeof(WsFold) + plan->sources.size() * sizeof(WsSource) +
           cache_line + barrier_bytes;
}

}  // namespace

PersistentProgram::PersistentProgram(Context& context, Mailbox& mailbox, Counts& counts,
                                     OpList op_list, Tuning tuning, GpuClock clock)
    : context_(context), mailbox_(mailbox), counts_(counts), op_list_(std::move(op_list)),
      tuning_(tuning), clock_(clock), running_(context.page.name("persistent kernel")),
      stream_(context.device.stream()),
      program_(context.device, Memory::device,
               sizeof(WsProgram) + op_list_.steps.size() * sizeof(WsStep) +
                   op_list_.ops.size() * sizeof(WsOp) + op_list_.peers.size() * sizeof(WsPeer) +
                   bytes_of(std::get_if<FoldPlan>(&op_list_.plan))),
      host_(context.device, Memory::pinned, sizeof(HostWords)),
      program_here_(context.device, Memory::pinned, program_.bytes()) {
    if (const auto* const plan = std::get_if<GatedPlan>(&op_list_.plan))
        gated_ = std::make_unique<GatedWork>(
            context, plan->works, static_cast<std::uint32_t>(op_list_.steps.size()),
            reinterpret_cast<std::uint64_t>(host_.address() + offsetof(HostWords, stop)));
}

/// Words are compared by signed difference; those that the protocols in use have not raised must
/// not fall 2^31 behind. The peers cannot raise any meanwhile: they wait for this rank's launch.
void PersistentProgram::raise_stale_words() {
    for (const int peer : op_list_.peers) {
        Count& count = counts_[static_cast<std::size_t>(peer)];
        if (count.stale < stale_limit) continue;
        mailbox_.raise(peer, count.sent, count.received);
        count.stale = 0;
    }
}

/// Writes what the kernel reads: one block of bytes, which the stream copies to the device.
void PersistentProgram::prepare() {
    if (const auto size = stretches_.stamps() * sizeof(u64); stamps_.bytes() < size) {
        stamps_ = Allocation(context_.device, Memory::device, size);
        stamps_here_ = Allocation(context_.device, Memory::pinned, size);
    }
    std::byte* const bytes = program_here_.address();
    std::size_t at = sizeof(WsProgram);
    const auto put = [&](const void* from, std::size_t size) {
        const auto address = reinterpret_cast<u64>(program_.address() + at);
        if (size) std::memcpy(bytes + at, from, size);
        at += size;
        return address;
    };
    std::vector<WsOp> ops;
    for (const auto& [peer, sends, op] : op_list_.ops) {
        ops.push_back(op);
        const Count& count = counts_[static_cast<std::size_t>(peer)];
        ops.back().before = sends ? count.sent : count.received;
    }
    std::vector<WsPeer> peers;
    const int me = context_.control.rank();
    for (const int peer : op_list_.peers)
        peers.push_back({mailbox_.start(peer, me), mailbox_.start(me, peer),
                         2 * ++counts_[static_cast<std::size_t>(peer)].launches, 0});
    auto* const host = host_.address();
    WsProgram program{};
    program.ops = put(ops.data(), ops.size() * sizeof(WsOp));
    program.peers = put(peers.data(), peers.size() * sizeof(WsPeer));
    program.steps = put(op_list_.steps.data(), op_list_.steps.size() * sizeof(WsStep));
    program.stamps = reinterpret_cast<u64>(stamps_.address());
    program.progress = reinterpret_cast<u64>(host + offsetof(HostWords, progress));
    program.stop = reinterpret_cast<u64>(host + offsetof(HostWords, stop));
    program.untimed = static_cast<u64>(stretches_.first);
    program.each = static_cast<u64>(stretches_.each);
    program.stretches = stretches_.all();
    program.timed = stretches_.timed;
    program.parts = static_cast<u32>(stretches_.parts);
    program.rest = static_cast<u32>(stretches_.rest);
    program.step_count = static_cast<u32>(op_list_.steps.size());
    program.op_count = static_cast<u32>(ops.size());
    program.peer_count = static_cast<u32>(op_list_.peers.size());
    if (const auto* const plan = std::get_if<FoldPlan>(&op_list_.plan)) {
        const std::array<std::byte, barrier_bytes> never{};
        at = (at + cache_line - 1) / cache_line * cache_line;
        WsFolds folds{};
        folds.met = put(never.data(), barrier_bytes);
        folds.steps = put(plan->steps.data(), plan->steps.size() * sizeof(WsFoldStep));
        folds.folds = put(plan->folds.data(), plan->folds.size() * sizeof(WsFold));
        folds.sources = put(plan->sources.data(), plan->sources.size() * sizeof(WsSource));
        folds.double_buffer_stride = plan->double_buffer_stride;
        folds.step_count = static_cast<u32>(plan->steps.size());
        folds.fold_count = static_cast<u32>(plan->folds.size());
        folds.source_count = static_cast<u32>(plan->sources.size());
        folds.own_shares = plan->own_shares;
        folds_ = reinterpret_cast<void*>(put(&folds, sizeof folds));
    }
    const u64 counters = reinterpret_cast<u64>(program_.address() + offsetof(WsProgram, counters));
    program.finished = counters;
    program.gathered = counters + sizeof(u32);
    program.moved = counters + 2 * sizeof(u32);
    program.show_after = static_cast<u64>(show_seconds / clock_.tick);
    program.slots = op_list_.slots;
    program.slot_packets = op_list_.slot_packets;
    program.guarded = op_list_.guarded;
    program.place = tuning_.place;
    std::visit([&](const auto& plan) { plan.tell(program, tuning_); }, op_list_.plan);
    if (gated_) {
        program.ready = gated_->ready();
        program.arrived = gated_->arrived();
        program.steps_before = gated_->steps_before();
    }
    std::memcpy(bytes, &program, sizeof program);
    std::memset(host, 0, sizeof(HostWords));
    stream_->copy(program_.address(), bytes, program_.bytes());
}

void PersistentProgram::begin(const Schedule& schedule) {
    schedule_ = schedule;
    if (op_list_.ops.empty()) return;
    began_ = now();
    raise_stale_words();
    if (gated_) gated_->prepare(schedule);
    stretches_ = Stretches(schedule, bytes_of(op_list_));
    prepare();
    void* program = program_.address();
    void* arguments[] = {&program, &folds_};  // of those that fold; others take the first one
    const auto [kernel, threads] = op_list_.launch(tuning_);
    stream_->launch_resident(kernel, std::max(tuning_.blocks, tuning_.place + 1), threads,
                             arguments);
    if (gated_) gated_->begin(schedule);
    stream_->copy(stamps_here_.address(), stamps_.address(), stretches_.stamps() * sizeof(u64));
}

Stamps PersistentProgram::settle() {
    if (op_list_.ops.empty()) return {};
    wait_for_kernel();
    Stamps stamps = gated_ ? gated_->finish() : stamps_of_kernel();
    // Preparing, launching, and waiting for the peers' kernels.
    stamps.aside = host_began_ - began_;
    stamps.look_seconds = context_.device.look_seconds();
    // Where receivers fetch, the kernel ends when they have fetched the last step's message, which
    // its sender has stamped before.
    if (fetches() && !stamps.samples.empty()) {
        const auto& [begin, end] = stamps.samples.back();
        stamps.look_seconds += (end - begin) / schedule_.iterations_per_sample /
                               static_cast<double>(op_list_.steps.size());
    }
    count(schedule_.iterations());
    context_.page.leave();
    return stamps;
}

Stamps PersistentProgram::stamps_of_kernel() const {
    const std::span ticks(reinterpret_cast<const u64*>(stamps_here_.address()),
                          stretches_.stamps());
    const auto seconds = [&](std::size_t i) {
        // Signed: a clock that goes backwards is found out by who reads the stamps.
        return clock_.tick * static_cast<double>(static_cast<std::int64_t>(ticks[i] - ticks[0]));
    };
    Stamps stamps;
    stamps.end = seconds(ticks.size() - 1);
    for (int i = 0; i < schedule_.samples; ++i)
        stamps.samples.push_back(
            {seconds(stretches_.begin_of(i)), seconds(stretches_.begin_of(i + 1))});
    return stamps;
}

/// Until the kernel is at its end; the page shows how far it is. Its first word says that the
/// kernels have met.
void PersistentProgram::wait_for_kernel() {
    auto& host = *reinterpret_cast<HostWords*>(host_.address());
    const std::atomic_ref<u64> progress(host.progress);
    const int peer = op_list_.ops.front().peer;
    context_.page.enter(running_, peer);
    context_.page.begin_iteration();
    const double began = now();
    double moved = began;
    u64 seen = 0;
    bool stopping = false;
    while (!stream_->done()) {
        if (gated_) gated_->go_on();
        const double time = now();
        if (const u64 done = progress.load(std::memory_order_relaxed); done != seen) {
            if (!seen) host_began_ = time;
            seen = done;
            moved = time;
            context_.page.begin_iteration();
        }
        // By then the front end knows, and has had time to end the job.
        const double limit = context_.page.layout().timeout.load();
        if (!stopping && limit > 0 && time - moved > 2 * limit + 15) {
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
    if (!seen) host_began_ = now();
    if (stopping)
        throw Error("the persistent kernel got no answer from rank " + std::to_string(peer) +
                    " and was told to end, somewhere in " + std::to_string(schedule_.iterations()) +
                    " iterations");
}

void PersistentProgram::count(u64 iterations) {
    for (const int peer : op_list_.peers) {
        Count& count = counts_[static_cast<std::size_t>(peer)];
        const u64 sent = iterations * op_list_.sent[static_cast<std::size_t>(peer)];
        const u64 received = iterations * op_list_.received[static_cast<std::size_t>(peer)];
        count.sent += static_cast<u32>(sent);
        count.received += static_cast<u32>(received);
        count.stale += std::max(sent, received);
    }
}

std::string PersistentProgram::describe() const {
    const std::string work = std::visit([](const auto& plan) { return plan.work; }, op_list_.plan);
    return "\"protocol\": \"" + tuning_.text() +
           "\", \"blocks\": " + std::to_string(tuning_.blocks) +
           ", \"threads\": " + std::to_string(tuning_.threads) +
           ", \"place\": " + std::to_string(tuning_.place) +
           (work.empty() ? "" : ", \"work\": \"" + work + "\"");
}

}  // namespace wirespeed
