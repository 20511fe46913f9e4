#include "transports/gpu/clock.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "measure/clock.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

/// A wait of so many ticks must take the host as long. The difference of a long and a short one
/// leaves the launches out. Whatever else runs makes single waits longer, and a tool that watches
/// the GPU makes launches uneven: the shortest ones count, and longer waits are tried before a
/// clock is refused. Throws Error.
void hold_against_host(Device& device, double rate, const std::string& path) {
    constexpr double brief = 0.3e-3, agreement = 0.03;
    const auto seconds = [&](double wait) {
        std::uint64_t ticks = static_cast<std::uint64_t>(wait * rate);
        void* arguments[] = {&ticks};
        const double began = now();
        device.launch("ws_wait_ticks", 1, 1, arguments);
        return now() - began;
    };
    double stated = 0, host = 0;
    for (const double scale : {1, 1, 1, 4, 16, 64, 256}) {
        double least_brief = 1e9, least_longer = 1e9;
        stated = 3 * brief * scale;
        for (int trials = scale > 1 ? 3 : 10; trials; --trials) {
            least_brief = std::min(least_brief, seconds(brief * scale));
            least_longer = std::min(least_longer, seconds(4 * brief * scale));
            host = least_longer - least_brief;
            if (std::abs(host / stated - 1) <= agreement) return;
        }
    }
    throw Error(path + ": what the GPU's clock calls " + std::to_string(stated) +
                " s takes the host " + std::to_string(host) +
                " s: the clock's rate is not the one that the driver states");
}

GpuClock clock_of(Device& device, const PlatformFacts& facts, const std::string& path) {
    const double rate = device.clock_rate();
    if (rate <= 0)
        throw Unavailable(path +
                          ": the driver does not say how fast the GPU's clock counts (ROCm does "
                          "from version 5.4 on)");
    hold_against_host(device, rate, path);
    return {1 / rate, static_cast<double>(facts.clock_step) / rate};
}

}  // namespace

PlatformFacts platform_facts(Device& device) {
    const Allocation facts(device, Memory::device, sizeof(PlatformFacts));
    void* address = facts.address();
    void* arguments[] = {&address};
    device.launch("ws_platform_facts", 1, 1, arguments);
    PlatformFacts answer{};
    device.copy(&answer, facts.address(), sizeof answer);
    return answer;
}

GpuClock agreed_clock(Context& context, const PlatformFacts& facts, const std::string& path) {
    const auto all =
        exchange(context.control, [&] { return clock_of(context.device, facts, path); });
    GpuClock mine = all[static_cast<std::size_t>(context.control.rank())];
    for (const GpuClock& each : all) mine.step = std::max(mine.step, each.step);
    return mine;
}

}  // namespace wirespeed
