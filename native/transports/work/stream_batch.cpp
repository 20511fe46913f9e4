#include "transports/work/stream_batch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <utility>

#include "core/error.hpp"

namespace wirespeed {

void StreamBatch::prepare(int iterations) {
    for (const int count : {std::min(iterations, piece_), iterations % piece_}) {
        if (count == 0 || graphs_.count(count)) continue;
        graphs_[count] = stream_.capture([&] { put(count); });
    }
}

void StreamBatch::put(int iterations) {
    for (int i = 0; i < iterations; ++i) enqueue_();
    if (iterations) join_();
}

void StreamBatch::prepare(const Schedule& schedule) {
    prepare(schedule.untimed);
    if (schedule.samples) prepare(schedule.iterations_per_sample);
}

void StreamBatch::begin(const Schedule& schedule) {
    schedule_ = schedule;
    next_ = put_ = 0;
    stamps_ = {};
    stamps_.samples.reserve(static_cast<std::size_t>(samples()));
    mark(0, true);
    go_on();
}

int StreamBatch::go_on() {
    int seen = 0;
    for (; !marks_.empty() && marks_.front().event->reached(); marks_.pop_front()) {
        auto& [event, iterations, ends_stretch] = marks_.front();
        seen += iterations;
        if (!ends_stretch) {
            spare_.push_back(std::move(event));
            continue;
        }
        if (!first_) {
            first_ = std::move(event);
            continue;
        }
        const double begin = stamps_.end;
        stamps_.end += event->seconds_since(last_ ? *last_ : *first_);
        if (last_) stamps_.samples.push_back({begin, stamps_.end});
        if (last_) spare_.push_back(std::move(last_));
        last_ = std::move(event);
    }
    while (next_ <= samples() && marks_.size() < in_flight_) {
        const int count = std::min(length(next_) - put_, piece_);
        if (as_graphs_ && count)
            graphs_.at(count)->launch();
        else
            put(count);
        put_ += count;
        const bool ends = put_ == length(next_);
        mark(count, ends);
        if (!ends) continue;
        ++next_;
        put_ = 0;
    }
    return seen;
}

void StreamBatch::mark(int iterations, bool ends_stretch) {
    std::unique_ptr<Event> event;
    if (spare_.empty()) {
        event = stream_.event();
    } else {
        event = std::move(spare_.back());
        spare_.pop_back();
    }
    event->record();
    marks_.push_back({std::move(event), iterations, ends_stretch});
}

Stamps StreamBatch::stamps() {
    spare_.push_back(std::move(first_));
    spare_.push_back(std::move(last_));
    return std::move(stamps_);
}

namespace {

/// Two events with a pause between them must count what the host's clock counts. Each comes to pass
/// between its record() and the end of its wait(), which other processes may draw apart: then a
/// longer pause is tried. Throws Error.
void hold_against_host(Stream& stream) {
    constexpr double agreement = 0.03;
    const auto first = stream.event(), second = stream.event();
    double least = 0, most = 0, counted = 0;
    bool agrees = false;
    for (const double pause : {2e-3, 2e-3, 2e-3, 8e-3, 32e-3, 128e-3}) {
        const double before_first = now();
        first->record();
        first->wait();
        const double after_first = now();
        std::this_thread::sleep_for(std::chrono::duration<double>(pause));
        const double before_second = now();
        second->record();
        second->wait();
        least = before_second - after_first;
        most = now() - before_first;
        counted = second->seconds_since(*first);
        agrees = counted >= least * (1 - agreement) && counted <= most * (1 + agreement);
        if (agrees && most - least <= agreement * least) return;
    }
    if (agrees) return;
    throw Error("two events of a stream are " + std::to_string(counted) + " s apart, and " +
                std::to_string(least) + " to " + std::to_string(most) +
                " s by the host's clock: its clock is not to be trusted");
}

}  // namespace

ClockQuality stream_clock(Stream& stream) {
    hold_against_host(stream);
    constexpr int count = 64;
    std::vector<std::unique_ptr<Event>> events;
    for (int i = 0; i <= count; ++i) events.push_back(stream.event());
    for (const auto& event : events) event->record();
    stream.wait();
    const double cost = events.back()->seconds_since(*events.front()) / count;
    return {std::max(cost, 0.0), events.front()->resolution()};
}

}  // namespace wirespeed
