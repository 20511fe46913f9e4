#include "transports/work/stream_program.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/json.hpp"
#include "measure/timed_loop.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

constexpr std::size_t most_events = 64;
/// Iterations between two events, at most: a longer graph gains nothing.
constexpr int iterations_between_events = 128;
/// Seconds between two events, about: so the page shows progress, and the event's own cost is
/// nothing.
constexpr double piece_seconds = 5e-3;
/// Iterations that last longer do not feel how they were put into the stream.
constexpr double slow_iteration = 2e-3;
constexpr double enqueue_trial_seconds = 1e-3;

}  // namespace

StreamProgram::StreamProgram(Context& context, std::unique_ptr<StreamIteration> iteration,
                             const char* waits, const std::string& enqueue, ClockQuality clock)
    : page_(context.page), iteration_(std::move(iteration)), wait_(context.page.name(waits)),
      clock_(clock), look_seconds_(context.device.look_seconds()),
      batch_(
          iteration_->stream(), [this] { iteration_->enqueue(); }, 1, most_events,
          [this] { iteration_->join(); }) {
    choose(context.control, enqueue);
}

/// Rank 0's choice counts: libraries want the same on all ranks.
void StreamProgram::choose(Control& control, const std::string& enqueue) {
    try_out(1);  // connects the peers
    double seconds = try_out(1);
    control.broadcast(&seconds, sizeof seconds, 0);
    const auto piece = static_cast<int>(std::clamp(piece_seconds / std::max(seconds, 1e-9), 1.0,
                                                   static_cast<double>(iterations_between_events)));
    batch_.set_piece(piece);
    if (enqueue == "direct" || (enqueue == "measured" && seconds > slow_iteration)) return;
    const int iterations =
        std::clamp(static_cast<int>(enqueue_trial_seconds / std::max(seconds, 1e-9)),
                   std::min(4, piece), piece);
    if (enqueue == "graph-only") {
        exchange(control, [&] {
            batch_.prepare(Schedule{iterations});
            return true;
        });
        batch_.use_graphs(true);
        return;
    }
    if (!can_capture(control, iterations)) return;
    std::array<double, 2> best{1e9, 1e9};  // direct, graph
    for (int trial = 0; trial < 3; ++trial) {
        for (const bool graphs : {false, true}) {
            double& so_far = best[graphs ? 1 : 0];
            batch_.use_graphs(graphs);
            so_far = std::min(so_far, try_out(iterations));
        }
    }
    bool graph = enqueue == "graph" || best[1] < best[0];
    control.broadcast(&graph, sizeof graph, 0);
    batch_.use_graphs(graph);
    if (!graph) batch_.drop_graphs();
}

/// Can all ranks?
bool StreamProgram::can_capture(Control& control, int iterations) {
    const auto captured = exchange(control, [&] {
        try {
            batch_.prepare(Schedule{iterations});
        } catch (const Error& error) {
            no_graph_ = error.what();
            return false;
        }
        return true;
    });
    const bool all = std::find(captured.begin(), captured.end(), false) == captured.end();
    if (!all) batch_.drop_graphs();
    return all;
}

/// Seconds of one of so many iterations.
double StreamProgram::try_out(int iterations) {
    double seconds = 0;
    run_samples(*this, {iterations, iterations, 1}, {&seconds, 1});
    return seconds;
}

void StreamProgram::meet() {
    iteration_->meet();
    if (!met_) met_ = iteration_->stream().event();
    met_->record();
    page_.enter(wait_, iteration_->last_peer());
    iteration_->wait(*met_);
}

void StreamProgram::begin(const Schedule& schedule) {
    const double began = now();
    if (batch_.uses_graphs()) batch_.prepare(schedule);
    prepared_ = now() - began;
    batch_.begin(schedule);
}

Stamps StreamProgram::settle() {
    while (!batch_.done()) {
        page_.enter(wait_, iteration_->last_peer());
        iteration_->wait(batch_.oldest());
        for (int i = batch_.go_on(); i; --i) page_.begin_iteration();
    }
    iteration_->stream().done();  // throws what its work threw
    page_.leave();
    Stamps stamps = batch_.stamps();
    stamps.aside = prepared_;
    stamps.look_seconds = look_seconds_;
    return stamps;
}

std::string StreamProgram::describe() const {
    if (batch_.uses_graphs()) return "\"enqueue\": \"graph\"";
    const std::string text = "\"enqueue\": \"direct\"";
    return no_graph_.empty() ? text : text + ", \"no_graph\": " + json_text(no_graph_);
}

}  // namespace wirespeed
