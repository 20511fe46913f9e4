// Iterations that the GPU's stream runs by itself: all are put into it, and events in between stamp
// the samples. The CPU only follows.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure/program.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// What a stream's program puts into its stream.
class StreamIteration {
  public:
    virtual ~StreamIteration() = default;
    virtual Stream& stream() = 0;
    /// Puts one iteration into the stream.
    virtual void enqueue() = 0;
    /// What follows in the stream starts when all ranks have come so far.
    virtual void meet() {}
    /// Waits until `reached()` holds.
    virtual void wait(const std::function<bool()>& reached);
    /// The rank that the last transfer waits for; -1 none.
    virtual int last_peer() const { return -1; }
};

class StreamProgram final : public Program {
  public:
    /// Every rank makes one. `enqueue`: how iterations are put into the stream, "direct" (call by
    /// call) or as a "graph", if one can be made; "graph-only": throws where none can; "measured":
    /// as is faster here. `waits`: what a rank is in while it follows the stream.
    StreamProgram(Context& context, std::unique_ptr<StreamIteration> iteration, const char* waits,
                  const std::string& enqueue, ClockQuality clock);

    void run(const Schedule& schedule, std::span<double> seconds) override;
    std::string describe() const override;
    ClockQuality clock() const override { return clock_; }

  private:
    /// An event behind some iterations, which may end a sample.
    struct Mark {
        std::unique_ptr<Event> event;
        int iterations, sample;
    };
    static constexpr int no_sample = -1, start = -2;

    void choose(Control& control, const std::string& enqueue);
    bool can_capture(Control& control, int iterations);
    double try_out(int iterations);
    void prepare(int iterations);
    void put(int iterations, int sample);
    void mark(int iterations, int sample);
    void follow();

    Page& page_;
    std::unique_ptr<StreamIteration> iteration_;
    CallId wait_;
    ClockQuality clock_;
    int piece_ = 1;  ///< so many iterations are put in at most before the next event
    bool as_graph_ = false;
    std::string no_graph_;                          ///< why this rank could make none
    std::map<int, std::unique_ptr<Graph>> graphs_;  ///< by iterations

    std::deque<Mark> marks_;  ///< not known to be reached, the oldest first
    std::vector<std::unique_ptr<Event>> spare_;
    std::unique_ptr<Event> last_;  ///< where the running sample began
    std::span<double> seconds_;
    int iterations_per_sample_ = 1;
};

/// What the clock of such samples resolves, and what it costs in the stream.
ClockQuality stream_clock(Stream& stream);

}  // namespace wirespeed
