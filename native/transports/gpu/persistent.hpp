// A program whose iterations one persistent kernel runs, in one launch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/persistent_types.h"
#include "transports/gpu/clock.hpp"
#include "transports/gpu/folds.hpp"
#include "transports/gpu/gated_work.hpp"
#include "transports/gpu/mailbox.hpp"
#include "transports/lists.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// How a program's messages move: the protocol and the size of the launch; the same on all ranks.
struct Tuning {
    static constexpr std::uint32_t most_blocks = 256;
    WsProtocol protocol = ws_ll;
    std::uint32_t blocks = 1, threads = 32;
    std::uint32_t place = 0;  ///< LL by one block: which of them does it

    std::string text() const;
    bool operator==(const Tuning&) const = default;
};

/// Transfers and launches with a peer since the transport was opened: the words in the mailboxes
/// count on from there.
struct Count {
    std::uint32_t sent = 0, received = 0;  ///< transfers
    std::uint32_t launches = 0;            ///< of both
    std::uint64_t stale = 0;  ///< most transfers that a word between the two may be behind
};
using Counts = std::vector<Count>;  ///< by peer

/// One rank's part of a program, with all addresses.
struct OpList {
    struct Op {
        int peer;
        bool sends;
        WsOp op;
    };
    std::vector<WsStep> steps;
    std::vector<Op> ops;
    std::vector<int> peers;
    std::vector<std::uint32_t> sent, received;  ///< transfers in an iteration, by peer
    std::uint32_t slots = 0, slot_packets = 0;
    bool guarded = false;
    bool works = false;        ///< the kernel changes what arrives
    bool in_shares = true;     ///< blocks can do so without waiting for each other
    bool defers_work = false;  ///< work can be done when its message is sent on
    /// Each step is one message to the same peer and one from the same: no block overtakes another
    /// by a step, since the sender waits for all of them.
    bool in_turn = false;
    bool needs_guard =
        true;  ///< a message that comes does not say by itself that its place is free
    std::vector<Work> gated = {};  ///< of an iteration, beside the kernel
    bool work_lags = false;        ///< by a step
    std::uint64_t soak = 0;        ///< address of its WsSoak, where the kernel checks messages
    bool has_lists = false;        ///< on some rank, of blocks
    std::vector<std::shared_ptr<PieceTable>> lists = {};  ///< that this rank sends
    bool folding = false;                                 ///< all ranks run the kernels that fold
    /// Peers of a rank where every rank's program is one of kernels/exchange.h; 0: it is not.
    std::uint32_t exchange_peers = 0;
    FoldPlan folds = {};
    /// Of the two places where messages land by turns; 0: one.
    std::uint64_t double_buffer_stride = 0;
    bool in_words = true;  ///< all that is folded lies on whole words
    bool alike = true;     ///< on every rank: what the first step receives has lanes of its own
    std::uint64_t packet_bytes;  ///< in a packet of LL
};

/// With so many peers these steps and folds are what kernels/exchange.h does; 0: they are not.
std::uint32_t exchange_peers(const OpList& op_list);

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

  private:
    void raise_stale_words();
    void prepare(const Schedule& schedule);
    void wait_for_kernel();
    void count(u64 iterations);
    std::size_t count_of_stamps() const;
    Stamps stamps_of_kernel() const;

    Context& context_;
    Mailbox& mailbox_;
    Counts& counts_;
    OpList op_list_;
    Tuning tuning_;
    GpuClock clock_;
    CallId running_;
    Schedule schedule_;
    int parts_ = 1;          ///< of each sample, which the kernel stamps one by one
    double began_ = 0;       ///< when begin() was called
    double host_began_ = 0;  ///< when the host saw that the kernels had met
    std::unique_ptr<Stream> stream_;
    void* folds_ = nullptr;                         ///< in program_
    Allocation program_, stamps_;                   ///< on the device
    Allocation host_, program_here_, stamps_here_;  ///< in pinned memory: the stream copies
    std::unique_ptr<GatedWork> gated_;
};

}  // namespace wirespeed
