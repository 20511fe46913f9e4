#include "measure/program.hpp"

#include "measure/clock.hpp"

namespace wirespeed {

void HostProgram::rounds(int count) {
    for (int i = 0; i < count; ++i) {
        page_.begin_round();
        for (const auto& action : round_) action->run();
    }
}

void HostProgram::run(const Schedule& schedule, std::span<double> seconds) {
    if (align_ && schedule.aligned) align_->run();
    rounds(schedule.lead_in);
    double last = now();
    for (int sample = 0; sample < schedule.samples; ++sample) {
        if (schedule.together && align_) {
            align_->run();
            last = now();
        }
        rounds(schedule.rounds_per_sample);
        const double stamp = now();
        seconds[static_cast<std::size_t>(sample)] = (stamp - last) / schedule.rounds_per_sample;
        last = stamp;
    }
    page_.leave();
}

}  // namespace wirespeed
