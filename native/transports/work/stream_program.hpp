// Iterations that the GPU's stream runs by itself: all are put into it, and the CPU only follows.
#pragma once

#include <memory>
#include <string>

#include "transports/transport.hpp"
#include "transports/work/stream_batch.hpp"

namespace wirespeed {

/// What a stream's program puts into its stream.
class StreamIteration {
  public:
    virtual ~StreamIteration() = default;
    virtual Stream& stream() = 0;
    /// Puts one iteration into the stream.
    virtual void enqueue() = 0;
    /// The stream waits for what it has put beside it.
    virtual void join() {}
    /// Puts in what waits for all ranks.
    virtual void meet() {}
    /// Waits for an event of the stream.
    virtual void wait(Event& event) { event.wait(); }
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

    void meet() override;
    void begin(const Schedule& schedule) override;
    Stamps settle() override;
    std::string describe() const override;
    ClockQuality clock() const override { return clock_; }

  private:
    void choose(Control& control, const std::string& enqueue);
    bool can_capture(Control& control, int iterations);
    double try_out(int iterations);

    Page& page_;
    std::unique_ptr<StreamIteration> iteration_;
    CallId wait_;
    ClockQuality clock_;
    double look_seconds_;
    StreamBatch batch_;
    double prepared_ = 0;  ///< seconds that the batch's graphs took
    std::unique_ptr<Event> met_;
    std::string no_graph_;  ///< why this rank could make none
};

}  // namespace wirespeed
