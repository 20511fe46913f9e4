#include "measure/fault_injection.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"

namespace wirespeed {
namespace {

constexpr const char* faults[] = {"drop-byte",    "drop-iteration", "repeat-iteration",
                                  "drop-element", "repeat-element", "swap-elements"};

class FaultyProgram final : public WrappedProgram {
  public:
    FaultyProgram(std::unique_ptr<Program> program, std::string fault, Device& device,
                  Buffers buffers, Arrived arrived)
        : WrappedProgram(std::move(program)), fault_(std::move(fault)), device_(device),
          at_(buffers.receive + arrived.begin), element_(arrived.element), before_(arrived.bytes),
          now_(arrived.bytes) {}

    void run(const Schedule& schedule, std::span<double> seconds) override {
        if (before_.empty()) return program_->run(schedule, seconds);
        device_.copy(before_.data(), at_, before_.size());
        program_->run(schedule, seconds);
        device_.copy(now_.data(), at_, now_.size());
        const std::vector<std::byte> damaged = damage();
        device_.copy(at_, damaged.data(), damaged.size());
        earlier_ = now_;
    }

  private:
    std::vector<std::byte> damage() const {
        std::vector<std::byte> found = now_;
        const std::size_t middle = found.size() / element_ / 2 * element_;
        const std::size_t neighbour = middle >= element_ ? middle - element_ : middle;
        const auto put = [&](std::size_t to, const std::vector<std::byte>& from, std::size_t at) {
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), element_,
                        found.begin() + static_cast<std::ptrdiff_t>(to));
        };
        if (fault_ == "drop-byte")
            found.back() = before_.back();
        else if (fault_ == "drop-iteration")
            found = before_;
        else if (fault_ == "repeat-iteration")
            found = earlier_.empty() ? found : earlier_;  // the first iteration has none before it
        else if (fault_ == "drop-element")
            put(middle, before_, middle);
        else
            put(middle, now_, neighbour);
        if (fault_ == "swap-elements") put(neighbour, now_, middle);
        return found;
    }

    std::string fault_;
    Device& device_;
    std::byte* at_;
    std::size_t element_;
    std::vector<std::byte> before_, now_, earlier_;
};

}  // namespace

std::unique_ptr<Program> inject_fault(std::unique_ptr<Program> program, const std::string& fault,
                                      Device& device, Buffers buffers, Arrived arrived) {
    if (std::find(std::begin(faults), std::end(faults), fault) == std::end(faults)) {
        std::string known;
        for (const char* each : faults) known += (known.empty() ? "" : ", ") + std::string(each);
        throw Error("a fault is one of " + known + ", not '" + fault + "'");
    }
    return std::make_unique<FaultyProgram>(std::move(program), fault, device, buffers, arrived);
}

}  // namespace wirespeed
