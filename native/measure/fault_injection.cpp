#include "measure/fault_injection.hpp"

#include <vector>

#include "core/error.hpp"

namespace wirespeed {
namespace {

class FaultyProgram final : public WrappedProgram {
  public:
    FaultyProgram(std::unique_ptr<Program> program, std::string fault, Device& device,
                  Buffers buffers, std::size_t received)
        : WrappedProgram(std::move(program)), fault_(std::move(fault)), device_(device),
          buffers_(buffers), received_(received), before_(received) {}

    void run(const Schedule& schedule, std::span<double> seconds) override {
        if (received_ == 0) return program_->run(schedule, seconds);
        device_.copy(before_.data(), buffers_.receive, received_);
        program_->run(schedule, seconds);
        std::vector<std::byte> now(received_);
        device_.copy(now.data(), buffers_.receive, received_);
        if (fault_ == "drop-byte")
            device_.copy(buffers_.receive + received_ - 1, &before_[received_ - 1], 1);
        else if (fault_ == "drop-iteration")
            device_.copy(buffers_.receive, before_.data(), received_);
        else if (!arrived_.empty())  // the first iteration has none before it
            device_.copy(buffers_.receive, arrived_.data(), received_);
        arrived_ = std::move(now);
    }

  private:
    std::string fault_;
    Device& device_;
    Buffers buffers_;
    std::size_t received_;
    std::vector<std::byte> before_, arrived_;
};

}  // namespace

std::unique_ptr<Program> inject_fault(std::unique_ptr<Program> program, const std::string& fault,
                                      Device& device, Buffers buffers, std::size_t received) {
    if (fault != "drop-byte" && fault != "drop-iteration" && fault != "repeat-iteration")
        throw Error("a fault is drop-byte, drop-iteration or repeat-iteration, not '" + fault +
                    "'");
    return std::make_unique<FaultyProgram>(std::move(program), fault, device, buffers, received);
}

}  // namespace wirespeed
