#include "transports/work/chain.hpp"

#include "measure/clock.hpp"

namespace wirespeed {
namespace {

class Chain final : public Program {
  public:
    Chain(Page& page, Worker worker, std::vector<Link> links)
        : page_(page), worker_(std::move(worker)), links_(std::move(links)),
          working_(page.name(work_call)) {}

    void run(const Schedule& schedule, std::span<double> seconds) override {
        aligned_ = false;
        for (int i = 0; i < schedule.untimed; ++i) run_iteration();
        double last = now();
        for (int sample = 0; sample < schedule.samples; ++sample) {
            for (int i = 0; i < schedule.iterations_per_sample; ++i) run_iteration();
            const double stamp = now();
            seconds[static_cast<std::size_t>(sample)] =
                (stamp - last) / schedule.iterations_per_sample;
            last = stamp;
        }
        page_.leave();
    }

    std::string describe() const override { return links_.front().program->describe(); }

  private:
    void run_iteration() {
        for (const auto& link : links_) {
            if (!link.meanwhile.empty()) page_.enter(working_);
            worker_.start(link.meanwhile);
            double unused = 0;
            // The ranks meet once, at the very beginning.
            link.program->run({0, 1, 1, false, !aligned_}, {&unused, 1});
            aligned_ = true;
            page_.enter(working_);
            worker_.start(link.after);
            worker_.finish();
        }
    }

    Page& page_;
    Worker worker_;
    std::vector<Link> links_;
    CallId working_;
    bool aligned_ = false;
};

}  // namespace

std::unique_ptr<Program> make_chain(Page& page, Worker worker, std::vector<Link> links) {
    return std::make_unique<Chain>(page, std::move(worker), std::move(links));
}

}  // namespace wirespeed
