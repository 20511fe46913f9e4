#include "transports/local/trial_timing.hpp"

#include <algorithm>

#include "measure/timed_loop.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

constexpr int samples = 5, few_samples = 3;
constexpr double short_sample = 0.3e-3, long_iteration = 10e-3;
/// Seconds that show which short iterations are hopeless: one sample, so that noise may add to it.
constexpr double first_look = 0.05e-3, hopeless = 1.5;
/// From this many seconds on, an iteration is steady, and one of them shows who is far behind.
constexpr double steady_iteration = 0.5e-3;
constexpr double far_behind = 1.25;
constexpr double most_iterations = 300;
constexpr int long_samples = 9;
constexpr double long_sample = 1.5e-3;

int iterations_in(double seconds, double iteration) {
    return static_cast<int>(std::clamp(seconds / std::max(iteration, 1e-7), 1.0, most_iterations));
}

double run(Control& control, Program& program, const Schedule& schedule) {
    std::vector<double> seconds(static_cast<std::size_t>(schedule.samples));
    const auto all = exchange(control, [&] {
        run_samples(program, schedule, seconds);
        const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
        std::nth_element(seconds.begin(), middle, seconds.end());
        return *middle;
    });
    return *std::max_element(all.begin(), all.end());
}

}  // namespace

double trial_seconds(Control& control, Program& program, double least) {
    const double iteration = run(control, program, {1, 1, 1});
    if (iteration > long_iteration) return iteration;
    if (iteration < steady_iteration) {
        const double brief = run(control, program, {1, iterations_in(first_look, iteration), 1});
        if (brief > hopeless * least) return brief;
        return run(control, program, {2, iterations_in(short_sample, brief), samples});
    }
    return iteration > far_behind * least ? iteration : run(control, program, {1, 1, few_samples});
}

double settled_seconds(Control& control, Program& program) {
    const double iteration = run(control, program, {1, 1, 1});
    const int taken = iteration < steady_iteration ? long_samples : samples;
    return run(control, program, {2, iterations_in(long_sample, iteration), taken});
}

}  // namespace wirespeed
