#include "measure/program.hpp"

#include "measure/clock.hpp"

namespace wirespeed {

void HostProgram::iterations(int count) {
    for (int i = 0; i < count; ++i) {
        page_.begin_iteration();
        for (const auto& action : iteration_) action->run();
    }
}

void HostProgram::run(const Schedule& schedule, std::span<double> seconds) {
    if (align_ && schedule.aligned) align_->run();
    iterations(schedule.untimed);
    double last = now();
    for (int sample = 0; sample < schedule.samples; ++sample) {
        if (schedule.barrier_per_sample && align_) {
            align_->run();
            last = now();
        }
        iterations(schedule.iterations_per_sample);
        const double stamp = now();
        seconds[static_cast<std::size_t>(sample)] = (stamp - last) / schedule.iterations_per_sample;
        last = stamp;
    }
    page_.leave();
}

}  // namespace wirespeed
