#include "transports/local/pace.hpp"

#include <algorithm>

#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

constexpr int samples = 5;
constexpr double sample_seconds = 0.3e-3, long_round = 10e-3;
constexpr double most_rounds = 300;
constexpr int settled_samples = 9;
constexpr double settled_seconds = 1.5e-3;

int rounds_in(double seconds, double round) {
    return static_cast<int>(std::clamp(seconds / std::max(round, 1e-7), 1.0, most_rounds));
}

double run(Control& control, Program& program, const Schedule& schedule) {
    std::vector<double> seconds(static_cast<std::size_t>(schedule.samples));
    const auto all = exchange(control, [&] {
        program.run(schedule, seconds);
        const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
        std::nth_element(seconds.begin(), middle, seconds.end());
        return *middle;
    });
    return *std::max_element(all.begin(), all.end());
}

}  // namespace

double pace(Control& control, Program& program) {
    const double round = run(control, program, {1, 1, 1});
    if (round > long_round) return round;
    return run(control, program, {2, rounds_in(sample_seconds, round), samples});
}

double settled_pace(Control& control, Program& program) {
    const double round = run(control, program, {1, 1, 1});
    return run(control, program, {2, rounds_in(settled_seconds, round), settled_samples});
}

}  // namespace wirespeed
