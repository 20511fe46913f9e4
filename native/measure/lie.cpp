#include "measure/lie.hpp"

#include <vector>

#include "core/error.hpp"

namespace wirespeed {
namespace {

class Liar final : public WrappedProgram {
  public:
    Liar(std::unique_ptr<Program> truth, std::string what, Device& device, Buffers buffers,
         std::size_t received)
        : WrappedProgram(std::move(truth)), what_(std::move(what)), device_(device),
          buffers_(buffers), received_(received), before_(received) {}

    void run(const Schedule& schedule, std::span<double> seconds) override {
        if (received_ == 0) return program_->run(schedule, seconds);
        device_.copy(before_.data(), buffers_.receive, received_);
        program_->run(schedule, seconds);
        std::vector<std::byte> now(received_);
        device_.copy(now.data(), buffers_.receive, received_);
        if (what_ == "drop-byte")
            device_.copy(buffers_.receive + received_ - 1, &before_[received_ - 1], 1);
        else if (what_ == "drop-round")
            device_.copy(buffers_.receive, before_.data(), received_);
        else if (!arrived_.empty())  // the first round has none before it
            device_.copy(buffers_.receive, arrived_.data(), received_);
        arrived_ = std::move(now);
    }

  private:
    std::string what_;
    Device& device_;
    Buffers buffers_;
    std::size_t received_;
    std::vector<std::byte> before_, arrived_;
};

}  // namespace

std::unique_ptr<Program> make_liar(std::unique_ptr<Program> truth, const std::string& what,
                                   Device& device, Buffers buffers, std::size_t received) {
    if (what != "drop-byte" && what != "drop-round" && what != "repeat-round")
        throw Error("a program lies by drop-byte, drop-round or repeat-round, not '" + what + "'");
    return std::make_unique<Liar>(std::move(truth), what, device, buffers, received);
}

}  // namespace wirespeed
