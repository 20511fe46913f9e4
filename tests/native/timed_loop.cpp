// The timed loop, over programs whose stamps are made up: what becomes of samples, and which clocks
// contradict each other.
#include "measure/timed_loop.hpp"

#include <time.h>

#include <cstdio>
#include <functional>
#include <string>

#include "core/error.hpp"

using namespace wirespeed;

namespace {

void sleep_for(double seconds) {
    const timespec pause{0, static_cast<long>(seconds * 1e9)};
    nanosleep(&pause, nullptr);
}

/// Sleeps so long in each iteration, and stamps as it is told to.
class Sleeping final : public Program {
  public:
    Sleeping(double each, double late, std::function<void(Stamps&)> change)
        : each_(each), late_(late), change_(std::move(change)) {}
    void meet() override { sleep_for(late_); }
    void begin(const Schedule& schedule) override {
        iterations = schedule.iterations();
        untimed = schedule.untimed;
        stamps_ = {};
        stamps_.begin = now();
        for (int i = 0; i < schedule.untimed; ++i) sleep_for(each_);
        for (int sample = 0; sample < schedule.samples; ++sample) {
            const double begin = now();
            for (int i = 0; i < schedule.iterations_per_sample; ++i) sleep_for(each_);
            stamps_.samples.push_back({begin, now()});
        }
        stamps_.end = now();
    }
    Stamps settle() override {
        change_(stamps_);
        return stamps_;
    }

    std::uint64_t iterations = 0;
    int untimed = 0;

  private:
    double each_, late_;
    std::function<void(Stamps&)> change_;
    Stamps stamps_;
};

void scale(Stamps& stamps, double factor) {
    for (auto& [begin, end] : stamps.samples) {
        begin = stamps.begin + factor * (begin - stamps.begin);
        end = stamps.begin + factor * (end - stamps.begin);
    }
    stamps.end = stamps.begin + factor * (stamps.end - stamps.begin);
}

int failures = 0;
void require(bool holds, const std::string& what) {
    if (holds) return;
    std::printf("not so: %s\n", what.c_str());
    ++failures;
}

constexpr double each = 4e-3;

BatchClocks::Verdict verdict_of(std::function<void(Stamps&)> change) {
    Sleeping program(each, 0, std::move(change));
    double seconds[2];
    return run_samples(program, {1, 1, 2}, seconds).verdict;
}

}  // namespace

int main() {
    const auto nothing = [](Stamps&) {};
    for (const int untimed : {0, 1})
        for (const int per_sample : {1, 3})
            for (const int samples : {1, 5}) {
                Sleeping program(each, 0.03, nothing);
                std::vector<double> seconds(static_cast<std::size_t>(samples));
                const BatchClocks clocks =
                    run_samples(program, {untimed, per_sample, samples}, seconds);
                require(clocks.verdict == BatchClocks::agree, "true clocks agree");
                require(program.untimed == 1, "one iteration comes before the first sample");
                require(program.iterations == static_cast<std::uint64_t>(1 + per_sample * samples),
                        "the schedule's iterations");
                for (const double value : seconds) require(value >= each, "a sleep is no shorter");
            }
    require(verdict_of([](Stamps& stamps) { scale(stamps, 1.5); }) == BatchClocks::long_stamps,
            "a clock that counts too fast");
    require(verdict_of([](Stamps& stamps) { scale(stamps, 0.5); }) == BatchClocks::short_stamps,
            "a clock that counts too slowly");
    require(verdict_of([](Stamps& stamps) {
                stamps.samples.back().end = stamps.end = stamps.samples.back().begin + 1e-4;
            }) == BatchClocks::short_stamps,
            "a last stamp that comes too early");
    require(verdict_of([](Stamps& stamps) {
                stamps.samples[0].end = stamps.samples[0].begin + 1e-6;
            }) == BatchClocks::short_stamps,
            "a sample that leaves out most of its time");
    require(verdict_of([](Stamps& stamps) {
                stamps.samples[1].begin += 0.9 * (stamps.samples[1].end - stamps.samples[1].begin);
            }) == BatchClocks::short_stamps,
            "a sample that begins too late");
    require(verdict_of([](Stamps& stamps) {
                stamps.aside = 0.5 * (stamps.end - stamps.begin);
                scale(stamps, 0.5);
            }) == BatchClocks::agree,
            "time that the program says belongs to no iteration");
    require(verdict_of([](Stamps& stamps) { stamps = {}; }) == BatchClocks::agree,
            "a rank without a part contradicts nothing");
    for (const auto& change : std::initializer_list<std::function<void(Stamps&)>>{
             [](Stamps& stamps) { std::swap(stamps.samples[0], stamps.samples[1]); },
             [](Stamps& stamps) { stamps.samples[0].begin = stamps.begin - 1; },
             [](Stamps& stamps) { stamps.samples[1].end = stamps.end + 1; },
             [](Stamps& stamps) { scale(stamps, 0); },
             [](Stamps& stamps) { stamps.samples.pop_back(); }}) {
        bool refused = false;
        try {
            verdict_of(change);
        } catch (const Error&) {
            refused = true;
        }
        require(refused,
                "stamps out of order, of a clock that stands still, or too few, are refused");
    }
    Sleeping brief(0, 0, [](Stamps& stamps) { scale(stamps, 0); });
    double none[2];
    bool agrees = false;
    // A batch in which another process has the CPU is not brief.
    for (int tries = 0; tries < 20 && !agrees; ++tries) {
        try {
            agrees = run_samples(brief, {1, 1, 2}, none).verdict == BatchClocks::agree;
        } catch (const Error&) {
            continue;
        }
    }
    require(agrees && none[0] == 0,
            "a clock that is too coarse for a batch says nothing against it");
    Sleeping program(each, 0.03, nothing);
    const double estimate = run_untimed(program, 3);
    require(program.iterations == 3 && estimate >= each && estimate < 0.03,
            "an untimed run is so long, and without the wait for others");
    return failures ? 1 : 0;
}
