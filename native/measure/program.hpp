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

/// How many rounds to run and how to cut them into samples; the same on every rank.
struct Schedule {
    int lead_in = 0;            ///< rounds before the first sample, not timed
    int rounds_per_sample = 1;  ///< so many that a sample stands clear of the clock's resolution
    int samples = 1;
    bool together = false;  ///< all ranks begin each sample together, where the program can
    bool aligned = true;    ///< they meet before the first round of all
};

/// In seconds: what reading a clock costs, and the smallest step that it can tell.
struct ClockQuality {
    double cost, resolution;
};

class Program {
  public:
    virtual ~Program() = default;
    /// Runs all rounds of `schedule`; seconds[i] is sample i's time divided by its rounds.
    /// Back when the last byte of the last round has arrived.
    virtual void run(const Schedule& schedule, std::span<double> seconds) = 0;
    /// Can it begin each sample with a barrier?
    virtual bool can_begin_together() const { return false; }
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
    bool can_begin_together() const override { return program_->can_begin_together(); }
    std::string describe() const override { return program_->describe(); }
    ClockQuality clock() const override { return program_->clock(); }

  protected:
    std::unique_ptr<Program> program_;
};

/// Something a CPU does in each round: one step of a pattern, as a rule.
class Action {
  public:
    virtual ~Action() = default;
    virtual void run() = 0;
};

/// A program whose rounds are run by the CPU, which stamps each sample with its own clock.
class HostProgram final : public Program {
  public:
    /// `align` lets the ranks start together; it runs before the lead-in, before each sample if the
    /// schedule says so, and may be null.
    HostProgram(Page& page, std::vector<std::unique_ptr<Action>> round,
                std::unique_ptr<Action> align, std::string details = {})
        : page_(page), round_(std::move(round)), align_(std::move(align)),
          details_(std::move(details)) {}
    void run(const Schedule& schedule, std::span<double> seconds) override;
    bool can_begin_together() const override { return align_ != nullptr; }
    std::string describe() const override { return details_; }

  private:
    void rounds(int count);

    Page& page_;
    std::vector<std::unique_ptr<Action>> round_;
    std::unique_ptr<Action> align_;
    std::string details_;
};

}  // namespace wirespeed
