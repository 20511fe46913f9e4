// A program of one action a round that says what was chosen for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/mpi/align.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

class DescribedProgram final : public Program {
  public:
    /// `description`: JSON members. The ranks start together, by a barrier of their world.
    DescribedProgram(Context& context, std::unique_ptr<Action> round, std::string description)
        : device_(context.device),
          rounds_(context.page, only(std::move(round)), mpi::align(context.page)),
          description_(std::move(description)) {}

    void run(const Schedule& schedule, std::span<double> seconds) override {
        device_.enter();  // libraries work on the device that is current
        rounds_.run(schedule, seconds);
    }
    bool can_begin_together() const override { return rounds_.can_begin_together(); }
    std::string describe() const override { return description_; }

  private:
    static std::vector<std::unique_ptr<Action>> only(std::unique_ptr<Action> action) {
        std::vector<std::unique_ptr<Action>> round;
        round.push_back(std::move(action));
        return round;
    }

    Device& device_;
    HostProgram rounds_;
    std::string description_;
};

}  // namespace wirespeed
