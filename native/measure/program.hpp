// A program is a pattern's steps, made ready for one transport and one pair of buffers. Running it
// is the only thing that is ever timed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/clock.hpp"
#include "measure/page.hpp"

namespace wirespeed {

/// How many iterations to run and how to cut them into samples; the same on every rank.
struct Schedule {
    int untimed = 0;  ///< iterations before the first sample
    int iterations_per_sample = 1;
    int samples = 1;
    bool barrier_per_sample = false;  ///< before each sample, where the program can
    bool aligned = true;              ///< a barrier before the very first iteration
};

/// In seconds: what reading a clock costs, and the smallest step that it resolves.
struct ClockQuality {
    double cost, resolution;
};

class Program {
  public:
    virtual ~Program() = default;
    /// Runs all iterations of `schedule`; seconds[i] is sample i's time divided by its iterations.
    /// Returns once the last byte of the last iteration has arrived.
    virtual void run(const Schedule& schedule, std::span<double> seconds) = 0;
    /// Can it begin each sample with a barrier of all ranks?
    virtual bool has_barrier() const { return false; }
    /// What was chosen for this program, as JSON members, for the record.
    virtual std::string describe() const { return {}; }
    /// The clock that stamps its samples: the CPU's, unless it says otherwise.
    virtual ClockQuality clock() const { return {clock_cost(), clock_resolution()}; }
};

/// Another program, and something besides.
class WrappedProgram : public Program {
  public:
    explicit WrappedProgram(std::unique_ptr<Program> program) : program_(std::move(program)) {}
    void run(const Schedule& schedule, std::span<double> seconds) override {
        program_->run(schedule, seconds);
    }
    bool has_barrier() const override { return program_->has_barrier(); }
    std::string describe() const override { return program_->describe(); }
    ClockQuality clock() const override { return program_->clock(); }

  protected:
    std::unique_ptr<Program> program_;
};

/// Something a CPU does in each iteration: one step of a pattern, as a rule.
class Action {
  public:
    virtual ~Action() = default;
    virtual void run() = 0;
};

/// A program whose iterations are run by the CPU, which stamps each sample with its own clock.
class HostProgram final : public Program {
  public:
    /// `align` lets the ranks start together; it runs before the untimed iterations, before each
    /// sample if the schedule says so, and may be null.
    HostProgram(Page& page, std::vector<std::unique_ptr<Action>> iteration,
                std::unique_ptr<Action> align, std::string details = {})
        : page_(page), iteration_(std::move(iteration)), align_(std::move(align)),
          details_(std::move(details)) {}
    void run(const Schedule& schedule, std::span<double> seconds) override;
    bool has_barrier() const override { return align_ != nullptr; }
    std::string describe() const override { return details_; }

  private:
    void iterations(int count);

    Page& page_;
    std::vector<std::unique_ptr<Action>> iteration_;
    std::unique_ptr<Action> align_;
    std::string details_;
};

}  // namespace wirespeed
