// A program is a pattern's steps, made ready for one transport and one pair of buffers. Running it
// is the only thing that is ever timed (timed_loop.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "measure/clock.hpp"
#include "measure/page.hpp"

namespace wirespeed {

/// How many iterations to run without interruption, and how to cut them into samples; the same on
/// every rank.
struct Schedule {
    int untimed = 1;  ///< iterations before the first sample
    int iterations_per_sample = 1;
    int samples = 0;
    bool barrier_per_sample = false;  ///< before each sample, where the program can

    std::uint64_t iterations() const {
        return static_cast<std::uint64_t>(untimed) +
               static_cast<std::uint64_t>(iterations_per_sample) *
                   static_cast<std::uint64_t>(samples);
    }
};

/// In seconds: what reading a clock costs, and the smallest step that it resolves.
struct ClockQuality {
    double cost, resolution;
};

/// When iterations were complete, in seconds by the program's own clock.
///
/// Iteration k is complete when on this rank its receives have landed, its send buffers may be used
/// again, and its last launch of work has ended; seeing it must not hold iteration k + 1 back.
struct Stamps {
    struct Sample {
        double begin, end;  ///< the iteration before its first one is complete, and its last one
    };
    double begin = 0;  ///< nothing of the first iteration had begun
    double end = 0;    ///< all iterations are complete
    std::vector<Sample> samples;
    /// Seconds of begin() and settle(), by the host's clock, that belong to no iteration:
    /// preparing, flushing, meeting between samples.
    double aside = 0;
    double look_seconds = 500e-6;  ///< so much later the host may have seen the end
};

class Program {
  public:
    virtual ~Program() = default;
    /// Collective: back when all ranks are here. Nothing of it is timed.
    virtual void meet() = 0;
    /// Starts the schedule's iterations; may be back before they are done.
    virtual void begin(const Schedule& schedule) = 0;
    /// Back when all of them are complete, and nothing of theirs is under way any more.
    virtual Stamps settle() = 0;

    /// Can it begin each sample with a barrier of all ranks?
    virtual bool has_barrier() const { return false; }
    /// What was chosen for this program, as JSON members, for the record.
    virtual std::string describe() const { return {}; }
    /// May a message be in use at its sender until an answer has come, because its receiver fetches
    /// it?
    virtual bool fetches() const { return false; }
    /// What does the work, where others are wrapped around it.
    virtual const Program& innermost() const { return *this; }
    /// The clock that stamps its samples: the CPU's, unless it says otherwise.
    virtual ClockQuality clock() const { return {clock_cost(), clock_resolution()}; }
};

/// Another program, and something before and after its iterations, which is no part of them.
class WrappedProgram : public Program {
  public:
    explicit WrappedProgram(std::unique_ptr<Program> program) : program_(std::move(program)) {}
    void meet() override { program_->meet(); }
    void begin(const Schedule& schedule) override {
        const double began = now();
        before(schedule);
        aside_ = now() - began;
        program_->begin(schedule);
    }
    Stamps settle() override {
        Stamps stamps = program_->settle();
        const double began = now();
        after(stamps);
        stamps.aside += aside_ + (now() - began);
        return stamps;
    }
    bool has_barrier() const override { return program_->has_barrier(); }
    std::string describe() const override { return program_->describe(); }
    bool fetches() const override { return program_->fetches(); }
    const Program& innermost() const override { return program_->innermost(); }
    ClockQuality clock() const override { return program_->clock(); }

  protected:
    virtual void before(const Schedule&) {}
    virtual void after(Stamps&) {}

    std::unique_ptr<Program> program_;

  private:
    double aside_ = 0;
};

/// Something a CPU does in each iteration: one step of a pattern, as a rule.
class Action {
  public:
    virtual ~Action() = default;
    virtual void run() = 0;
    /// Starts what run() then waits for; false: it cannot, or run() must do it all.
    virtual bool post() { return false; }
};

/// Lets the ranks of a program start together: run() waits for all of them.
class StartLine : public Action {
  public:
    /// The same before a sample: the moment, on now()'s clock, from which it counts on this rank.
    /// Where the ranks agree on a moment it is that one, on all of them, and this rank's lateness
    /// is part of its sample.
    virtual double start_sample() = 0;
};

/// A program whose iterations are run by the CPU, which stamps each sample with its own clock.
class HostProgram final : public Program {
  public:
    /// `align` lets the ranks start together, and each sample if the schedule says so; it may be
    /// null.
    HostProgram(Page& page, std::vector<std::unique_ptr<Action>> iteration,
                std::unique_ptr<StartLine> align, std::string details = {})
        : page_(page), iteration_(std::move(iteration)), align_(std::move(align)),
          details_(std::move(details)) {}
    void meet() override;
    void begin(const Schedule& schedule) override;
    Stamps settle() override { return std::move(stamps_); }
    bool has_barrier() const override { return align_ != nullptr; }
    std::string describe() const override { return details_; }

  private:
    void iterations(int count);

    Page& page_;
    std::vector<std::unique_ptr<Action>> iteration_;
    std::unique_ptr<StartLine> align_;
    std::string details_;
    Stamps stamps_;
};

}  // namespace wirespeed
