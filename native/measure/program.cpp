#include "measure/program.hpp"

#include "measure/clock.hpp"

namespace wirespeed {

void HostProgram::run(const Schedule& schedule, std::span<double> seconds) {
    align();
    for (int i = 0; i < schedule.lead_in; ++i) {
        page_.begin_round();
        round();
    }
    double last = now();
    for (int sample = 0; sample < schedule.samples; ++sample) {
        for (int i = 0; i < schedule.rounds_per_sample; ++i) {
            page_.begin_round();
            round();
        }
        const double stamp = now();
        seconds[static_cast<std::size_t>(sample)] = (stamp - last) / schedule.rounds_per_sample;
        last = stamp;
    }
    page_.leave();
}

}  // namespace wirespeed
