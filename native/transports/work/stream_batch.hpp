// A schedule's iterations in a stream, with events between them that stamp where samples end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "devices/device.hpp"
#include "measure/program.hpp"

namespace wirespeed {

/// What the clock of such stamps resolves, and what it costs in the stream. Throws Error where it
/// does not count as the host's clock does.
ClockQuality stream_clock(Stream& stream);

class StreamBatch {
  public:
    /// `enqueue` puts one iteration into the stream; after the last of several, `join` makes the
    /// stream wait for what runs beside it. At most `piece` of them come between two
    /// events, and at most `in_flight` events wait in the stream: it never runs dry, and what waits
    /// in it stays bounded.
    StreamBatch(
        Stream& stream, std::function<void()> enqueue, int piece, std::size_t in_flight,
        std::function<void()> join = [] {})
        : stream_(stream), enqueue_(std::move(enqueue)), join_(std::move(join)), piece_(piece),
          in_flight_(in_flight) {}

    /// By launches of graphs from now on, or call by call.
    void use_graphs(bool yes) { as_graphs_ = yes; }
    void drop_graphs() { graphs_.clear(); }
    bool uses_graphs() const { return as_graphs_; }
    void set_piece(int piece) { piece_ = piece; }
    /// Captures what the schedule needs, before any of it is timed. Throws where the stream cannot.
    void prepare(const Schedule& schedule);

    void begin(const Schedule& schedule);
    /// Puts in what there is room for, and takes note of the events that have been reached; back at
    /// once. Returns the iterations whose end it has seen.
    int go_on();
    /// Is all of it put in and reached?
    bool done() const { return marks_.empty() && next_ > samples(); }
    /// What go_on() waits for; not where it is done.
    Event& oldest() { return *marks_.front().event; }
    /// Once it is done.
    Stamps stamps();

  private:
    /// An event behind some iterations. Stretch 0 is the untimed iterations, stretch i is sample i.
    struct RecordedEvent {
        std::unique_ptr<Event> event;
        int iterations;
        bool ends_stretch;
    };
    int samples() const { return schedule_.samples; }
    int length(int stretch) const {
        return stretch ? schedule_.iterations_per_sample : schedule_.untimed;
    }
    void prepare(int iterations);
    void put(int iterations);
    void mark(int iterations, bool ends_stretch);

    Stream& stream_;
    std::function<void()> enqueue_, join_;
    int piece_;
    std::size_t in_flight_;
    bool as_graphs_ = false;
    std::map<int, std::unique_ptr<Graph>> graphs_;  ///< by iterations

    Schedule schedule_;
    int next_ = 1;  ///< the stretch that is being put in; behind the last one: none
    int put_ = 0;   ///< iterations of it that are in
    std::deque<RecordedEvent> marks_;  ///< not known to be reached, the oldest first
    std::vector<std::unique_ptr<Event>> spare_;
    std::unique_ptr<Event> first_, last_;  ///< the batch's begin, and the last stretch's end
    Stamps stamps_;
};

}  // namespace wirespeed
