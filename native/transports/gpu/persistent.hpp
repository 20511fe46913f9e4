// A program whose iterations one persistent kernel runs, in one launch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/persistent_types.h"
#include "transports/gpu/clock.hpp"
#include "transports/gpu/gated_work.hpp"
#include "transports/gpu/mailbox.hpp"
#include "transports/gpu/plan.hpp"
#include "transports/gpu/stretches.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// Transfers and launches with a peer since the transport was opened: the words in the mailboxes
/// count on from there.
struct Count {
    std::uint32_t sent = 0, received = 0;  ///< transfers
    std::uint32_t launches = 0;            ///< of both
    std::uint64_t stale = 0;  ///< most transfers that a word between the two may be behind
};
using Counts = std::vector<Count>;  ///< by peer

class PersistentProgram final : public Program {
  public:
    PersistentProgram(Context& context, Mailbox& mailbox, Counts& counts, OpList op_list,
                      Tuning tuning, GpuClock clock);
    /// The kernels meet by themselves, before their first stamp.
    void meet() override {}
    void begin(const Schedule& schedule) override;
    Stamps settle() override;
    std::string describe() const override;
    ClockQuality clock() const override {
        return gated_ ? gated_->clock() : ClockQuality{clock_.step, clock_.step};
    }

    void use(Tuning tuning) { tuning_ = tuning; }
    const Tuning& tuning() const { return tuning_; }
    bool fetches() const override {
        return tuning_.protocol == ws_pull || tuning_.protocol == ws_tma_pull;
    }

  private:
    void raise_stale_words();
    void prepare();
    void wait_for_kernel();
    void count(u64 iterations);
    Stamps stamps_of_kernel() const;

    Context& context_;
    Mailbox& mailbox_;
    Counts& counts_;
    OpList op_list_;
    Tuning tuning_;
    GpuClock clock_;
    CallId running_;
    Schedule schedule_;
    Stretches stretches_{{}, 0};
    double began_ = 0;       ///< when begin() was called
    double host_began_ = 0;  ///< when the host saw that the kernels had met
    std::unique_ptr<Stream> stream_;
    void* folds_ = nullptr;                         ///< in program_; null: it does not fold
    Allocation program_, stamps_;                   ///< on the device
    Allocation host_, program_here_, stamps_here_;  ///< in pinned memory: the stream copies
    std::unique_ptr<GatedWork> gated_;
};

}  // namespace wirespeed
