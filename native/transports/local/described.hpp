// Programs that say what was chosen for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/align.hpp"

namespace wirespeed {

/// One action an iteration.
class DescribedProgram final : public Program {
  public:
    /// `description`: JSON members. The ranks start together, by a barrier of their world.
    DescribedProgram(Context& context, std::unique_ptr<Action> iteration, std::string description)
        : device_(context.device),
          iterations_(context.page, only(std::move(iteration)), align(context)),
          description_(std::move(description)) {}

    void meet() override { iterations_.meet(); }
    void begin(const Schedule& schedule) override {
        device_.enter();  // libraries work on the device that is current
        iterations_.begin(schedule);
    }
    Stamps settle() override { return iterations_.settle(); }
    bool has_barrier() const override { return iterations_.has_barrier(); }
    std::string describe() const override { return description_; }

  private:
    static std::vector<std::unique_ptr<Action>> only(std::unique_ptr<Action> action) {
        std::vector<std::unique_ptr<Action>> iteration;
        iteration.push_back(std::move(action));
        return iteration;
    }

    Device& device_;
    HostProgram iterations_;
    std::string description_;
};

/// Says more of a program than it says itself.
class Noted final : public WrappedProgram {
  public:
    Noted(std::unique_ptr<Program> program, std::string note)
        : WrappedProgram(std::move(program)), note_(std::move(note)) {}
    std::string describe() const override {
        const std::string own = program_->describe();
        return own.empty() ? note_ : own + ", " + note_;
    }

  private:
    std::string note_;
};

}  // namespace wirespeed
