// Work beside the persistent kernel: kernels in a stream of their own, ordered with its transfers
// by a gate in device memory (kernels/gate.h), so that no host comes between two steps.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "devices/work.hpp"
#include "transports/transport.hpp"

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

    /// Makes ready for so many iterations.
    void prepare(std::uint64_t iterations);
    /// Puts in what fits the queue; back at once.
    void go_on();
    /// Puts in the rest and waits for it.
    void finish();

  private:
    void reset();
    void load();
    void put(std::uint64_t iterations);

    std::vector<Work> iteration_;
    std::uint32_t steps_, steps_before_ = 0;
    std::uint64_t piece_;  ///< iterations in one graph
    Allocation gate_;
    Device& device_;
    std::uint64_t stop_;
    std::unique_ptr<Stream> stream_;
    std::map<std::uint64_t, std::unique_ptr<Graph>> graphs_;  ///< by iterations
    bool captures_ = true;
    std::uint64_t all_ = 0, left_ = 0;
    std::deque<std::unique_ptr<Event>> in_flight_;
};

}  // namespace wirespeed
