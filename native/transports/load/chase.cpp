#include "transports/load/chase.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/chase_types.h"
#include "measure/clock.hpp"

namespace wirespeed {
namespace {

/// Of a launch: well below a second at any distance, so that the page shows progress.
constexpr u64 most_loads = u64{1} << 17;
constexpr u64 seed = 0x5DEECE66Du;
/// What the kernel writes before its stamps.
constexpr std::size_t words_before = 2;

/// From block to block, so that all of them have their turn, neighbours not one after the other.
u64 step_through(u64 blocks) {
    u64 step = std::max<u64>(3 * blocks / 8, 1);
    while (std::gcd(step, blocks) > 1) ++step;
    return step;
}

u64 links_in(std::size_t bytes) { return std::max<u64>(bytes / WS_CHAIN_LINE, 2); }

u64 elapsed(std::span<const u64> stamps, u64 stretch) {
    return stamps[stretch + 1] - stamps[stretch];
}

}  // namespace

void write_chain(Device& device, const std::byte* chain, u64 reader, std::size_t bytes, u64 wrong) {
    constexpr unsigned threads = 256;
    const u64 links = links_in(bytes), most = std::max(device.resident_blocks(), 1u);
    u64 values[] = {reinterpret_cast<u64>(chain), reader, links, seed, wrong};
    void* arguments[] = {&values[0], &values[1], &values[2], &values[3], &values[4]};
    const auto blocks = static_cast<unsigned>(std::clamp<u64>(links / threads, 1, most));
    device.launch("ws_chain_fill", blocks, threads, arguments);
}

Chase::Chase(Context& context, GpuClock clock, u64 chain, std::size_t bytes)
    : context_(context), clock_(clock), running_(context.page.name("chase through a chain")),
      stream_(context.device.stream()), links_(links_in(bytes)), at_(chain),
      blocks_(std::max(context.device.resident_blocks(), 1u)), apart_(step_through(blocks_)) {
    // Which link lies in the first line? No load at all says it.
    launch(0, 0, 0);
    expected_ = number_;
}

Stamps Chase::run(const Schedule& schedule) {
    const auto each = static_cast<u64>(schedule.iterations_per_sample);
    auto untimed = static_cast<u64>(schedule.untimed);
    loads_ = schedule.iterations();
    expected_ = (expected_ + loads_) % links_;
    Stamps stamps;
    stamps.samples.resize(static_cast<std::size_t>(schedule.samples));
    const u64 launches_before = launches_;
    u64 clock = 0;  // ticks of all launches so far
    for (; untimed > most_loads || (untimed && !schedule.samples);
         untimed -= std::min(untimed, most_loads))
        clock += elapsed(launch(std::min(untimed, most_loads), 0, 0), 0);
    for (std::size_t i = 0; i < stamps.samples.size();) {
        u64 left = each, before = 0;
        for (; left > most_loads; left -= most_loads, untimed = 0) {
            const std::span<const u64> stretches = launch(untimed, most_loads, 1);
            clock += elapsed(stretches, 0);
            before += elapsed(stretches, 1);
        }
        // The rest of a sample; where that is all of it, further samples too.
        const u64 samples =
            left == each ? std::min<u64>(stamps.samples.size() - i, most_loads / each) : 1;
        const std::span<const u64> stretches = launch(untimed, left, samples);
        clock += elapsed(stretches, 0);
        untimed = 0;
        for (u64 sample = 0; sample < samples; ++sample) {
            const u64 begin = clock;
            clock += before + elapsed(stretches, sample + 1);
            stamps.samples[i++] = {clock_.tick * static_cast<double>(begin),
                                   clock_.tick * static_cast<double>(clock)};
            before = 0;
        }
    }
    stamps.end = clock_.tick * static_cast<double>(clock);
    // Between launches the clock does not count.
    stamps.look_seconds =
        static_cast<double>(launches_ - launches_before) * context_.device.look_seconds();
    context_.page.leave();
    return stamps;
}

std::string Chase::wrong() const {
    if (number_ == expected_) return {};
    return "wrong data: " + std::to_string(loads_) + " loads lead to link " +
           std::to_string(number_) + " of " + std::to_string(links_) + ", not to link " +
           std::to_string(expected_);
}

/// Back come the clock's readings: at the begin, before the first sample and after each one.
std::span<const u64> Chase::launch(u64 untimed, u64 each, u64 samples) {
    context_.page.enter(running_);
    context_.page.begin_iteration();
    const std::size_t words = words_before + samples + 2;
    if (found_.bytes() < words * sizeof(u64)) {
        found_ = Allocation(context_.device, Memory::device, words * sizeof(u64));
        found_here_ = Allocation(context_.device, Memory::pinned, words * sizeof(u64));
    }
    u64 values[] = {at_, untimed, each, samples, block_};
    void* found = found_.address();
    void* arguments[] = {&values[0], &values[1], &values[2], &values[3], &values[4], &found};
    stream_->launch("ws_chase", blocks_, 1, arguments);
    stream_->copy(found_here_.address(), found, words * sizeof(u64));
    stream_->wait();
    const std::span here(reinterpret_cast<const u64*>(found_here_.address()), words);
    const std::span stamps = here.subspan(words_before);
    number_ = here[0];
    at_ = here[1];
    block_ = (block_ + apart_) % blocks_;
    ++launches_;
    return stamps;
}

}  // namespace wirespeed
