// A program of one action an iteration that says what was chosen for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/align.hpp"

namespace wirespeed {

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

}  // namespace wirespeed
