#include "transports/transport.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "transports/align.hpp"
#include "transports/work/chain.hpp"

namespace wirespeed {
namespace {

std::map<std::string, OpenTransport>& transports() {
    static std::map<std::string, OpenTransport> all;
    return all;
}

bool same_transfers(std::span<const Step> one, std::span<const Step> other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const Step& a, const Step& b) {
                          return a.sends == b.sends && a.receives == b.receives;
                      });
}

/// A step's transfers by the CPU, and its work.
class WorkingStep final : public Action {
  public:
    WorkingStep(Page& page, std::shared_ptr<Worker> worker, const Step& step,
                std::unique_ptr<Action> transfers)
        : page_(page), worker_(std::move(worker)), meanwhile_(step.meanwhile), after_(step.after),
          transfers_(std::move(transfers)), lags_(step.work_lags), ends_(step.ends_work),
          only_sends_(step.receives.empty()), working_(page.name(work_call)) {}
    void run() override {
        Action* transfers = transfers_.get();
        if (transfers && lags_ && !transfers->post() && only_sends_) {
            transfers->run();
            transfers = nullptr;
        }
        if (!meanwhile_.empty()) page_.enter(working_);
        worker_->start(meanwhile_, lags_);
        if (transfers) transfers->run();
        if (lags_ && !ends_) return;
        page_.enter(working_);
        worker_->start(after_, false);
        worker_->finish();
    }

  private:
    Page& page_;
    std::shared_ptr<Worker> worker_;
    std::vector<Work> meanwhile_, after_;
    std::unique_ptr<Action> transfers_;
    bool lags_, ends_, only_sends_;
    CallId working_;
};

}  // namespace

AddTransport::AddTransport(const char* name, OpenTransport open) { transports()[name] = open; }

std::unique_ptr<Transport> open_transport(const std::string& name, Context& context) {
    auto found = transports().find(name);
    if (found == transports().end()) throw Error("no transport called '" + name + "'");
    return found->second(context);
}

std::size_t Context::number(const std::string& name, std::size_t otherwise, std::size_t least,
                            std::size_t most) const {
    const std::string text = option(name, std::to_string(otherwise));
    std::size_t used = 0, number = 0;
    try {
        number = std::stoull(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || text[0] == '-' || number < least || number > most)
        throw Error("transport option " + name + " is a number from " + std::to_string(least) +
                    " to " + std::to_string(most) + ", not '" + text + "'");
    return number;
}

Buffers Transport::allocate(Memory kind, std::size_t bytes) {
    const std::string elsewhere = context_.option("into", "");
    const Memory into = elsewhere.empty() ? kind : memory_from(elsewhere);
    auto send = Allocation::buffer(context_.device, kind, bytes);
    auto receive = Allocation::buffer(context_.device, into, bytes);
    Buffers buffers;
    buffers.kind = kind;
    buffers.into = into;
    buffers.bytes = bytes;
    buffers.send = send.hand_over();
    buffers.receive = receive.hand_over();
    return buffers;
}

namespace {

/// Do all ranks say the same?
bool agreed(Control& control, std::ptrdiff_t mine) {
    std::vector<std::ptrdiff_t> all(static_cast<std::size_t>(control.size()));
    control.allgather(&mine, all.data(), sizeof mine);
    return std::all_of(all.begin(), all.end(), [&](std::ptrdiff_t one) { return one == mine; });
}

/// Of which steps does this hold on a rank or more?
std::vector<bool> on_any_rank(Control& control, std::span<const Step> steps,
                              bool (*holds)(const Step&)) {
    std::vector<char> mine, all(steps.size() * static_cast<std::size_t>(control.size()));
    for (const Step& step : steps) mine.push_back(holds(step));
    control.allgather(mine.data(), all.data(), mine.size());
    std::vector<bool> any(steps.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        any[i % steps.size()] = any[i % steps.size()] || all[i];
    return any;
}

}  // namespace

std::unique_ptr<Program> Transport::compile_with_work(std::span<const Step> steps,
                                                      const Buffers& buffers) {
    std::vector<ChainLink> links;
    std::vector<std::pair<std::vector<Step>, std::shared_ptr<Program>>> compiled;
    std::vector<Step> run;
    const auto end_run = [&](const Step& step) {
        auto found = std::find_if(compiled.begin(), compiled.end(), [&](const auto& each) {
            return same_transfers(each.first, run);
        });
        // Compiling is collective: a run that is a repetition on some ranks may be new on others.
        if (!agreed(context_.control, found - compiled.begin())) found = compiled.end();
        if (found == compiled.end())
            found = compiled.insert(compiled.end(), {run, compile(run, buffers)});
        links.push_back({found->second, step});
        run.clear();
    };
    const std::vector<bool> begins = on_any_rank(
        context_.control, steps, [](const Step& step) { return !step.meanwhile.empty(); });
    const std::vector<bool> ends =
        on_any_rank(context_.control, steps, [](const Step& step) { return step.has_work(); });
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (begins[i] && !run.empty()) end_run({});
        run.push_back({steps[i].sends, steps[i].receives, {}, {}, {}});
        if (ends[i] || i + 1 == steps.size()) end_run(steps[i]);
    }
    return make_chain(context_.page,
                      std::make_shared<LaunchingWorker>(context_.device, buffers.worked_on()),
                      links, align(context_));
}

std::unique_ptr<Program> Transport::compile_collective(const Collective&, const Buffers&) {
    throw Unavailable("this path has no collective operations of its own");
}

std::unique_ptr<Program> StepTransport::compile(std::span<const Step> steps,
                                                const Buffers& buffers) {
    return program_of(
        steps, buffers, [&](std::size_t i) { return compile_step(steps[i], buffers); },
        details_of(steps));
}

std::unique_ptr<Program> HostTransport::program_of(std::span<const Step> steps,
                                                   const Buffers& buffers,
                                                   const TransfersOf& transfers_of,
                                                   std::string details,
                                                   std::shared_ptr<Worker> worker) {
    std::vector<std::unique_ptr<Action>> iteration;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        auto transfers = steps[i].has_transfers() ? transfers_of(i) : nullptr;
        if (steps[i].has_work()) {
            if (!worker)
                worker = std::make_shared<LaunchingWorker>(context_.device, buffers.worked_on());
            transfers = std::make_unique<WorkingStep>(context_.page, worker, steps[i],
                                                      std::move(transfers));
        }
        if (transfers) iteration.push_back(std::move(transfers));
    }
    return std::make_unique<HostProgram>(context_.page, std::move(iteration), align(),
                                         std::move(details));
}

void Transport::abandon(Buffers& buffers) noexcept {
    context_.device.release_guarded(buffers.kind, buffers.send);
    context_.device.release_guarded(buffers.into, buffers.receive);
    buffers = {};
}

}  // namespace wirespeed
