#include "measure/timed_loop.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace wirespeed {
namespace {

/// Two clocks of one machine differ by less.
constexpr double agreement = 1.02;
/// Seconds that a reading may be off.
constexpr double slack = 100e-6;
/// What the host sees of a GPU's work begins with a launch, and ends when the host looks: it is a
/// little longer than what the stamps span.
constexpr double seen_by_host = 1.1;

}  // namespace

BatchClocks compared(const Stamps& stamps, double around) {
    // What lies between two samples is in no figure, and explains none of the host's time.
    double stamped = stamps.samples.front().begin - stamps.begin;
    for (const auto& [begin, end] : stamps.samples) stamped += end - begin;
    BatchClocks clocks{around - stamps.aside, stamped, BatchClocks::agree};
    if (stamped > agreement * around + slack) {
        clocks.host = around;
        clocks.verdict = BatchClocks::long_stamps;
    } else if (clocks.host > seen_by_host * stamped + stamps.look_seconds) {
        clocks.verdict = BatchClocks::short_stamps;
    }
    return clocks;
}

double run_untimed(Program& program, int iterations) {
    program.meet();
    program.begin({iterations, 1, 0});
    const Stamps stamps = program.settle();
    return (stamps.end - stamps.begin) / iterations;
}

BatchClocks run_samples(Program& program, Schedule schedule, std::span<double> seconds) {
    schedule.untimed = std::max(schedule.untimed, 1);
    program.meet();
    const double began = now();
    program.begin(schedule);
    const Stamps stamps = program.settle();
    const double around = now() - began;
    std::fill(seconds.begin(), seconds.end(), 0.0);
    if (stamps.samples.empty()) return {};  // this rank has no part
    if (stamps.samples.size() != seconds.size())
        throw Error(std::to_string(stamps.samples.size()) + " samples are stamped, not " +
                    std::to_string(seconds.size()));
    double last = stamps.begin;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        const auto& [begin, end] = stamps.samples[i];
        if (begin < last || end < begin || end > stamps.end)
            throw Error("the clock of this path went backwards while iterations ran");
        last = end;
        seconds[i] = (end - begin) / schedule.iterations_per_sample;
    }
    const BatchClocks clocks = compared(stamps, around);
    // A coarse clock shows nothing of a short batch.
    if (clocks.verdict == BatchClocks::short_stamps && last == stamps.samples.front().begin)
        throw Error("the clock of this path stood still while iterations ran");
    return clocks;
}

}  // namespace wirespeed
