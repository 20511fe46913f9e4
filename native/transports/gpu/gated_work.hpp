// Work beside the persistent kernel: kernels in a stream of their own, ordered with its transfers
// by a gate in device memory (kernels/gate.h), so that no host comes between two steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/work.hpp"
#include "transports/transport.hpp"
#include "transports/work/stream_batch.hpp"

namespace wirespeed {

class GatedWork {
  public:
    /// `iteration`: one or more launches for each of `steps` steps; the last one of a step opens
    /// the next step's transfers. `stop`: the word by which the host ends all. The
    /// work runs once, on whatever lies there.
    GatedWork(Context& context, std::vector<Work> iteration, std::uint32_t steps,
              std::uint64_t stop);

    /// Addresses of the gate's words, for the kernel that moves the bytes.
    std::uint64_t ready() const;
    std::uint64_t arrived() const;
    /// Steps done so far.
    std::uint32_t steps_before() const { return steps_before_; }

    /// Makes ready for a schedule: nothing is captured once it runs.
    void prepare(const Schedule& schedule);
    void begin(const Schedule& schedule) { batch_.begin(schedule); }
    /// Puts in what fits the queue; back at once.
    void go_on() { batch_.go_on(); }
    /// Puts in the rest and waits for it. An iteration is complete when its last launch has ended,
    /// which has waited for the transfers.
    Stamps finish();
    ClockQuality clock() const { return clock_; }

  private:
    void reset();
    void load();

    std::vector<Work> iteration_;
    std::uint32_t steps_, steps_before_ = 0;
    std::uint64_t iterations_ = 0;  ///< of the schedule
    bool captures_ = true;
    Allocation gate_;
    Device& device_;
    std::uint64_t stop_;
    std::unique_ptr<Stream> stream_;
    ClockQuality clock_;
    StreamBatch batch_;
};

}  // namespace wirespeed
