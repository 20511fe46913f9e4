#include "transports/work/stream_program.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

/// Events in flight at most: the stream never runs dry, and what waits in it stays bounded.
constexpr std::size_t most_marks = 64;
/// Iterations between two events, at most: a longer graph gains nothing.
constexpr int largest_piece = 128;
/// Seconds between two events, about: so the page shows progress, and the event's own cost is
/// nothing.
constexpr double piece_seconds = 5e-3;
/// Iterations that last longer do not feel how they were put into the stream.
constexpr double long_iteration = 2e-3;
constexpr double trial_seconds = 1e-3;

}  // namespace

void StreamIteration::wait(const std::function<bool()>& reached) {
    while (!reached()) std::this_thread::yield();
}

StreamProgram::StreamProgram(Context& context, std::unique_ptr<StreamIteration> iteration,
                             const char* waits, const std::string& enqueue, ClockQuality clock)
    : page_(context.page), iteration_(std::move(iteration)), wait_(context.page.name(waits)),
      clock_(clock) {
    choose(context.control, enqueue);
}

/// Rank 0's choice counts: libraries want the same on all ranks.
void StreamProgram::choose(Control& control, const std::string& enqueue) {
    try_out(1);  // connects the peers
    double seconds = try_out(1);
    control.broadcast(&seconds, sizeof seconds, 0);
    piece_ = static_cast<int>(std::clamp(piece_seconds / std::max(seconds, 1e-9), 1.0,
                                         static_cast<double>(largest_piece)));
    if (enqueue == "direct" || (enqueue == "measured" && seconds > long_iteration)) return;
    const int iterations = std::clamp(static_cast<int>(trial_seconds / std::max(seconds, 1e-9)),
                                      std::min(4, piece_), piece_);
    if (enqueue == "graph-only") {
        exchange(control, [&] {
            prepare(iterations);
            return true;
        });
        as_graph_ = true;
        return;
    }
    if (!can_capture(control, iterations)) return;
    std::array<double, 2> best{1e9, 1e9};  // direct, graph
    for (int turn = 0; turn < 6; ++turn) {
        as_graph_ = turn % 2 == 1;
        auto& so_far = best[as_graph_ ? 1 : 0];
        so_far = std::min(so_far, try_out(iterations));
    }
    bool graph = enqueue == "graph" || best[1] < best[0];
    control.broadcast(&graph, sizeof graph, 0);
    as_graph_ = graph;
    if (!graph) graphs_.clear();
}

/// Can all ranks?
bool StreamProgram::can_capture(Control& control, int iterations) {
    const auto captured = exchange(control, [&] {
        try {
            prepare(iterations);
        } catch (const Error& error) {
            no_graph_ = error.what();
            return false;
        }
        return true;
    });
    const bool all = std::find(captured.begin(), captured.end(), false) == captured.end();
    if (!all) graphs_.clear();
    return all;
}

/// Seconds of one of so many iterations.
double StreamProgram::try_out(int iterations) {
    double seconds = 0;
    run({as_graph_ ? iterations : 0, iterations, 1}, {&seconds, 1});
    return seconds;
}

/// Captures what `iterations` iterations will need, before any is timed.
void StreamProgram::prepare(int iterations) {
    for (const int count : {std::min(iterations, piece_), iterations % piece_}) {
        if (count == 0 || graphs_.count(count)) continue;
        graphs_[count] = iteration_->stream().capture([&] {
            for (int i = 0; i < count; ++i) iteration_->enqueue();
        });
    }
}

void StreamProgram::run(const Schedule& schedule, std::span<double> seconds) {
    seconds_ = seconds;
    iterations_per_sample_ = schedule.iterations_per_sample;
    if (as_graph_) {
        prepare(schedule.untimed);
        prepare(schedule.iterations_per_sample);
    }
    if (schedule.aligned) iteration_->meet();
    put(schedule.untimed, no_sample);
    mark(0, start);
    for (int sample = 0; sample < schedule.samples; ++sample)
        put(schedule.iterations_per_sample, sample);
    while (!marks_.empty()) follow();
    spare_.push_back(std::move(last_));
    page_.leave();
}

/// The last of these iterations ends `sample`.
void StreamProgram::put(int iterations, int sample) {
    for (int left = iterations; left > 0;) {
        const int now = std::min(left, piece_);
        if (as_graph_)
            graphs_.at(now)->launch();
        else
            for (int i = 0; i < now; ++i) iteration_->enqueue();
        left -= now;
        mark(now, left ? no_sample : sample);
    }
}

void StreamProgram::mark(int iterations, int sample) {
    if (marks_.size() >= most_marks) follow();
    std::unique_ptr<Event> event;
    if (spare_.empty()) {
        event = iteration_->stream().event();
    } else {
        event = std::move(spare_.back());
        spare_.pop_back();
    }
    event->record();
    marks_.push_back({std::move(event), iterations, sample});
}

/// Waits for the oldest mark.
void StreamProgram::follow() {
    Mark& oldest = marks_.front();
    page_.enter(wait_, iteration_->last_peer());
    iteration_->wait([&] { return oldest.event->reached(); });
    for (int i = 0; i < oldest.iterations; ++i) page_.begin_iteration();
    if (oldest.sample >= 0)
        seconds_[static_cast<std::size_t>(oldest.sample)] =
            oldest.event->seconds_since(*last_) / iterations_per_sample_;
    if (oldest.sample != no_sample) std::swap(last_, oldest.event);
    if (oldest.event) spare_.push_back(std::move(oldest.event));
    marks_.pop_front();
}

std::string StreamProgram::describe() const {
    if (as_graph_) return "\"enqueue\": \"graph\"";
    const std::string text = "\"enqueue\": \"direct\"";
    return no_graph_.empty() ? text : text + ", \"no_graph\": " + quoted(no_graph_);
}

ClockQuality stream_clock(Stream& stream) {
    constexpr int count = 64;
    std::vector<std::unique_ptr<Event>> events;
    for (int i = 0; i <= count; ++i) events.push_back(stream.event());
    for (const auto& event : events) event->record();
    stream.wait();
    const double cost = events.back()->seconds_since(*events.front()) / count;
    return {std::max(cost, 0.0), events.front()->resolution()};
}

}  // namespace wirespeed
