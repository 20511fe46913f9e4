#include "transports/fault_injection.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace wirespeed {
namespace {

constexpr const char* faults[] = {"drop-byte",    "drop-iteration", "repeat-iteration",
                                  "drop-element", "repeat-element", "swap-elements",
                                  "batch-lost",   "batch-stale",    "batch-damaged"};

constexpr const char* clock_faults[] = {"fast-clock", "slow-clock", "early-stamp", "lost-work"};

/// Other faults of batches, for programs that compute.
constexpr const char* work_faults[] = {"batch-short", "batch-word"};

/// Its samples are stamped wrongly, as by a faulty clock; the bytes are right.
class FaultyClock final : public WrappedProgram {
  public:
    FaultyClock(std::unique_ptr<Program> program, std::string fault)
        : WrappedProgram(std::move(program)), fault_(std::move(fault)) {}

  private:
    void after(Stamps& stamps) override {
        if (fault_ == "fast-clock") scale(stamps, 1.5);
        if (fault_ == "slow-clock") scale(stamps, 0.5);
        if (fault_ == "early-stamp" && !stamps.samples.empty()) {
            auto& [begin, end] = stamps.samples.back();
            end = stamps.end = begin + 0.1 * (end - begin);
        }
        if (fault_ == "lost-work") {
            stamps.aside += 0.9 * (stamps.end - stamps.begin);
            scale(stamps, 0.1);
        }
    }

    static void scale(Stamps& stamps, double factor) {
        for (auto& [begin, end] : stamps.samples) {
            begin = stamps.begin + factor * (begin - stamps.begin);
            end = stamps.begin + factor * (end - stamps.begin);
        }
        stamps.end = stamps.begin + factor * (stamps.end - stamps.begin);
    }

    std::string fault_;
};

class FaultyProgram final : public WrappedProgram {
  public:
    FaultyProgram(std::unique_ptr<Program> program, std::string fault, Device& device,
                  Buffers buffers, Arrived arrived)
        : WrappedProgram(std::move(program)), fault_(std::move(fault)), device_(device),
          at_(buffers.receive + arrived.begin), element_(arrived.element), before_(arrived.bytes),
          now_(arrived.bytes) {}

  private:
    void before(const Schedule& schedule) override {
        shows_ = fault_.rfind("batch-", 0) != 0 || schedule.samples > 0;
        if (!before_.empty()) device_.copy(before_.data(), at_, before_.size());
    }
    void after(Stamps&) override {
        if (before_.empty()) return;
        device_.copy(now_.data(), at_, now_.size());
        if (shows_) {
            const std::vector<std::byte> damaged = damage();
            device_.copy(at_, damaged.data(), damaged.size());
        }
        earlier_ = now_;
    }

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
        else if (fault_ == "batch-damaged")
            found.back() ^= std::byte{0x80};
        else if (fault_ == "drop-iteration" || fault_ == "batch-lost")
            found = before_;
        else if (fault_ == "repeat-iteration" || fault_ == "batch-stale")
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
    bool shows_ = true;
};

/// A batch runs an iteration less than it says, on all ranks alike.
class ShortBatch final : public WrappedProgram {
  public:
    using WrappedProgram::WrappedProgram;

    void begin(const Schedule& schedule) override {
        Schedule less = schedule;
        missing_ = schedule.samples > 0 && schedule.untimed < 2;
        if (schedule.samples > 0 && schedule.untimed > 1) less.untimed -= 1;
        if (missing_) less.samples -= 1;
        WrappedProgram::begin(less);
    }

  private:
    void after(Stamps& stamps) override {
        // This rank may have no part in it.
        if (!missing_ || stamps.end <= stamps.begin) return;
        if (stamps.samples.empty()) return stamps.samples.push_back({stamps.begin, stamps.end});
        auto& [begin, end] = stamps.samples.back();
        const double middle = (begin + end) / 2;
        stamps.samples.push_back({middle, std::exchange(end, middle)});
    }

    bool missing_ = false;
};

/// Says in a word of its buffer whether iterations are a batch: faults of the work look at it.
class BatchWord final : public WrappedProgram {
  public:
    BatchWord(std::unique_ptr<Program> program, Device& device, std::byte* at)
        : WrappedProgram(std::move(program)), device_(device), at_(at) {}

  private:
    void before(const Schedule& schedule) override {
        const std::uint64_t word = schedule.samples > 0;
        device_.copy(at_, &word, sizeof word);
    }

    Device& device_;
    std::byte* at_;
};

}  // namespace

std::unique_ptr<Program> inject_fault(std::unique_ptr<Program> program, const std::string& fault,
                                      Device& device, Buffers buffers, Arrived arrived) {
    const auto among = [&](const auto& words) {
        return std::find(std::begin(words), std::end(words), fault) != std::end(words);
    };
    if (among(clock_faults)) return std::make_unique<FaultyClock>(std::move(program), fault);
    if (fault == work_faults[0]) return std::make_unique<ShortBatch>(std::move(program));
    if (fault == work_faults[1])
        return std::make_unique<BatchWord>(std::move(program), device,
                                           buffers.receive + arrived.begin);
    if (!among(faults)) {
        std::string known;
        for (const char* each : faults) known += std::string(each) + ", ";
        for (const char* each : work_faults) known += std::string(each) + ", ";
        for (const char* each : clock_faults)
            known += (each == clock_faults[0] ? "" : ", ") + std::string(each);
        throw Error("a fault is one of " + known + ", not '" + fault + "'");
    }
    return std::make_unique<FaultyProgram>(std::move(program), fault, device, buffers, arrived);
}

}  // namespace wirespeed
