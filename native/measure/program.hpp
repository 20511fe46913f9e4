// A program is a pattern's steps, made ready for one transport and one pair of buffers. Running it
// is the only thing that is ever timed.
#pragma once

#include <span>

#include "measure/page.hpp"

namespace wirespeed {

/// How many rounds to run and how to cut them into samples; the same on every rank.
struct Schedule {
    int lead_in = 0;            ///< rounds before the first sample, not timed
    int rounds_per_sample = 1;  ///< so many that a sample stands clear of the clock's resolution
    int samples = 1;
};

class Program {
  public:
    virtual ~Program() = default;
    /// Runs all rounds of `schedule`; seconds[i] is sample i's time divided by its rounds.
    /// Back when the last byte of the last round has arrived.
    virtual void run(const Schedule& schedule, std::span<double> seconds) = 0;
};

/// A program whose rounds are run by the CPU, which stamps each sample with its own clock.
class HostProgram : public Program {
  public:
    explicit HostProgram(Page& page) : page_(page) {}
    void run(const Schedule& schedule, std::span<double> seconds) final;

  protected:
    virtual void round() = 0;
    /// Lets ranks start together, where the transport can; called once, before the lead-in.
    virtual void align() {}
    Page& page_;
};

}  // namespace wirespeed
