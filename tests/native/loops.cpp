// How ranks meet before a chain, how a stream's events are waited for, and whose clock they have.
#include <cstdio>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "measure/clock.hpp"
#include "transports/work/chain.hpp"
#include "transports/work/stream_batch.hpp"
#include "transports/work/stream_program.hpp"

using namespace wirespeed;

// No link here has work.
LaunchingWorker::LaunchingWorker(Device& device, Memory) : device_(device) {}
void LaunchingWorker::start(std::span<const Work>, bool) {}
void LaunchingWorker::finish() {}

namespace {

int failures = 0;
void require(bool holds, const std::string& what) {
    if (holds) return;
    std::printf("not so: %s\n", what.c_str());
    ++failures;
}

class Counted final : public StartLine {
  public:
    explicit Counted(int& met) : met_(met) {}
    void run() override { ++met_; }
    double start_sample() override {
        run();
        return now();
    }

  private:
    int& met_;
};

class Empty final : public Program {
  public:
    void meet() override {}
    void begin(const Schedule&) override {}
    Stamps settle() override { return {}; }
};

/// Reached at once, by a clock that counts so many times the host's seconds.
class Ticked final : public Event {
  public:
    explicit Ticked(double rate) : rate_(rate) {}
    void record() override { at_ = now(); }
    bool reached() override {
        ++looks;
        return true;
    }
    void wait() override { ++waits; }
    double seconds_since(const Event& earlier) const override {
        return rate_ * (at_ - dynamic_cast<const Ticked&>(earlier).at_);
    }
    double resolution() const override { return 1e-9; }

    int looks = 0, waits = 0;

  private:
    double rate_, at_ = 0;
};

class FalseStream final : public Stream {
  public:
    explicit FalseStream(double rate) : rate_(rate) {}
    void copy(void*, const void*, std::size_t) override {}
    void launch(std::string_view, unsigned, unsigned, void**) override {}
    void write_value(std::uint32_t*, std::uint32_t) override {}
    void wait_value(std::uint32_t*, std::uint32_t) override {}
    void wait_for(const Event&) override {}
    bool done() override { return true; }
    void wait() override {}
    std::unique_ptr<Event> event(bool) override { return std::make_unique<Ticked>(rate_); }

  private:
    double rate_;
};

class Nothing final : public StreamIteration {
  public:
    Stream& stream() override { return stream_; }
    void enqueue() override {}

  private:
    FalseStream stream_{1};
};

bool trusted(double rate) {
    FalseStream stream(rate);
    try {
        stream_clock(stream);
    } catch (const Error&) {
        return false;
    }
    return true;
}

}  // namespace

// A stream that keeps no graphs.
std::unique_ptr<Graph> Stream::capture(const std::function<void()>&) { return nullptr; }

int main() {
    int met = 0;
    Page page("", 0);
    alignas(Device*) static std::byte nobody[sizeof(Device*)];  // never asked
    const auto chain = make_chain(
        page,
        std::make_shared<LaunchingWorker>(reinterpret_cast<Device&>(nobody), Memory::pageable),
        {{std::make_shared<Empty>(), {}}}, std::make_unique<Counted>(met));
    chain->meet();
    require(met == 1, "a chain's ranks meet before its clock starts");
    chain->begin({1, 1, 2});
    require(met == 1, "and not in its iterations");
    chain->begin({1, 1, 2, true});
    require(met == 3, "but before each sample where each begins with a barrier");

    Nothing iteration;
    Ticked event(1);
    iteration.wait(event);
    require(event.waits == 1 && event.looks == 0,
            "a rank sleeps until its stream has come so far, and takes no CPU from the work");

    require(trusted(1), "the clock of events that counts as the host's does");
    for (const double rate : {0.0, 0.7, 0.9, 1.1, 1.5})
        require(!trusted(rate), "a clock of events that counts " + std::to_string(rate) + " s a s");
    return failures ? 1 : 0;
}
