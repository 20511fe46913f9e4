#include "transports/work/chain.hpp"

namespace wirespeed {
namespace {

class LinkAction final : public Action {
  public:
    LinkAction(Page& page, std::shared_ptr<Worker> worker, ChainLink link)
        : page_(page), worker_(std::move(worker)), link_(std::move(link)),
          working_(page.name(work_call)) {}
    void run() override {
        const Step& step = link_.step;
        const bool transfers_first = step.work_lags && step.receives.empty();
        if (transfers_first) transfer();
        if (!step.meanwhile.empty()) page_.enter(working_);
        worker_->start(step.meanwhile, step.work_lags);
        if (!transfers_first) transfer();
        if (step.work_lags && !step.ends_work) return;
        page_.enter(working_);
        worker_->start(step.after, false);
        worker_->finish();
    }

  private:
    void transfer() {
        link_.program->begin({});
        link_.program->settle();
    }

    Page& page_;
    std::shared_ptr<Worker> worker_;
    ChainLink link_;
    CallId working_;
};

}  // namespace

std::unique_ptr<Program> make_chain(Page& page, std::shared_ptr<Worker> worker,
                                    const std::vector<ChainLink>& links,
                                    std::unique_ptr<StartLine> start) {
    std::vector<std::unique_ptr<Action>> iteration;
    for (const ChainLink& link : links)
        iteration.push_back(std::make_unique<LinkAction>(page, worker, link));
    return std::make_unique<HostProgram>(page, std::move(iteration), std::move(start),
                                         links.front().program->describe());
}

}  // namespace wirespeed
