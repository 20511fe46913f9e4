#include "transports/work/work_program.hpp"

#include "core/error.hpp"
#include "transports/work/stream_program.hpp"

namespace wirespeed {
namespace {

/// In the order of the steps; what is gated needs no gate here.
std::vector<Work> all_work(std::span<const Step> steps, bool gated) {
    std::vector<Work> all;
    for (const Step& step : steps) {
        if (step.has_transfers()) throw Error("a program of work alone has no transfers");
        const auto add = [&](const std::vector<Work>& work) {
            all.insert(all.end(), work.begin(), work.end());
        };
        if (gated && !step.gated.empty()) {
            add(step.gated);
            continue;
        }
        add(step.meanwhile);
        add(step.after);
    }
    return all;
}

class WorkInStream final : public StreamIteration {
  public:
    WorkInStream(Device& device, std::vector<Work> work)
        : stream_(device.stream()), work_(std::move(work)) {}
    Stream& stream() override { return *stream_; }
    void enqueue() override { wirespeed::enqueue(*stream_, work_); }

  private:
    std::unique_ptr<Stream> stream_;
    std::vector<Work> work_;
};

class WorkByCpu final : public Action {
  public:
    WorkByCpu(LaunchingWorker worker, std::vector<Work> work)
        : worker_(std::move(worker)), work_(std::move(work)) {}
    void run() override { worker_.start(work_); }

  private:
    LaunchingWorker worker_;
    std::vector<Work> work_;
};

}  // namespace

std::unique_ptr<Program> make_work_program(Context& context, std::span<const Step> steps,
                                           const Buffers& buffers, bool gated) {
    std::vector<Work> work = all_work(steps, gated);
    if (on_host(buffers.worked_on())) {
        std::vector<std::unique_ptr<Action>> iteration;
        iteration.push_back(std::make_unique<WorkByCpu>(
            LaunchingWorker(context.device, buffers.worked_on()), std::move(work)));
        return std::make_unique<HostProgram>(context.page, std::move(iteration), nullptr);
    }
    auto iteration = std::make_unique<WorkInStream>(context.device, std::move(work));
    const ClockQuality clock = stream_clock(iteration->stream());
    return std::make_unique<StreamProgram>(context, std::move(iteration), "work in a stream",
                                           "measured", clock);
}

}  // namespace wirespeed
