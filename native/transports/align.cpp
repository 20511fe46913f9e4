#include "transports/align.hpp"

#include "transports/local/start_board.hpp"
#include "transports/mpi/align.hpp"
#include "transports/mpi/world.hpp"

namespace wirespeed {
namespace {

/// By the traffic of the set-up, whatever carries it.
class ControlBarrier final : public Action {
  public:
    explicit ControlBarrier(Context& context)
        : context_(context), call_(context.page.name("barrier before a batch")) {}
    void run() override {
        context_.page.enter(call_);
        context_.control.barrier();
    }

  private:
    Context& context_;
    CallId call_;
};

class BarrierStart final : public StartLine {
  public:
    BarrierStart(Context& context, std::unique_ptr<Action> barrier, const char* by)
        : board_(context.start_board), barrier_(std::move(barrier)), by_(by) {}
    void run() override {
        if (board_) board_->arrive();
        barrier_->run();
    }
    double start_sample() override {
        run();
        const std::int64_t left = monotonic_ns();
        if (board_) board_->note(by_, {0, left});
        return as_now(left);
    }

  private:
    std::shared_ptr<StartBoard> board_;
    std::unique_ptr<Action> barrier_;
    const char* by_;
};

class AgreedStart final : public StartLine {
  public:
    AgreedStart(Context& context, std::unique_ptr<Action> barrier)
        : page_(context.page), board_(context.start_board), barrier_(std::move(barrier)),
          call_(page_.name("barrier before a batch")) {}
    void run() override { meet(); }
    double start_sample() override {
        const StartTimes start = meet();
        board_->note("agreed time", start);
        return as_now(start.agreed);
    }

  private:
    StartTimes meet() {
        if (barrier_) barrier_->run();
        page_.enter(call_);
        return board_->meet();
    }

    Page& page_;
    std::shared_ptr<StartBoard> board_;
    std::unique_ptr<Action> barrier_;
    CallId call_;
};

}  // namespace

bool can_agree(const Context& context) {
    return context.start_board && context.start_board->has_all_ranks() &&
           context.option("start", "agreed") != "barrier";
}

std::unique_ptr<StartLine> align(Context& context, std::unique_ptr<Action> barrier,
                                 const char* by) {
    const bool by_mpi = !barrier && mpi::is_open();
    if (by_mpi) barrier = mpi::align(context.page);
    if (can_agree(context)) return std::make_unique<AgreedStart>(context, std::move(barrier));
    if (!barrier) barrier = std::make_unique<ControlBarrier>(context);
    return std::make_unique<BarrierStart>(context, std::move(barrier), by_mpi ? "MPI_Barrier" : by);
}

}  // namespace wirespeed
