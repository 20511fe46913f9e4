#include "measure/program.hpp"

namespace wirespeed {
namespace {

constexpr std::size_t actions_a_sign = 8;

}  // namespace

void HostProgram::iterations(int count) {
    for (int i = 0; i < count; ++i) {
        page_.begin_iteration();
        for (std::size_t at = 0; at < iteration_.size(); ++at) {
            // A ring's thousand steps are one iteration, which may well take longer than `timeout`.
            if (at % actions_a_sign == actions_a_sign - 1) page_.advance();
            iteration_[at]->run();
        }
    }
}

void HostProgram::meet() {
    if (align_) align_->run();
}

void HostProgram::begin(const Schedule& schedule) {
    stamps_.samples.resize(static_cast<std::size_t>(schedule.samples));
    stamps_.aside = 0;
    stamps_.begin = now();
    iterations(schedule.untimed);
    double last = now();
    for (Stamps::Sample& sample : stamps_.samples) {
        if (schedule.barrier_per_sample && align_) {
            const double before = last;
            last = align_->start_sample();
            // Before the first sample it lies between the batch's first stamp and that sample's.
            if (&sample != &stamps_.samples.front()) stamps_.aside += last - before;
        }
        iterations(schedule.iterations_per_sample);
        sample.begin = last;
        sample.end = last = now();
    }
    stamps_.end = last;
    page_.leave();
}

}  // namespace wirespeed
