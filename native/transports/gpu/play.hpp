// A program whose rounds the GPU plays by itself, in one launch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/play_types.h"
#include "transports/gpu/inbox.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// How a program's messages move; the same on all ranks.
struct Method {
    WsMethod way = ws_packets;
    std::uint32_t blocks = 1, threads = 32;
    std::uint32_t place = 0;  ///< packets: which of the blocks does it

    std::string text() const;
};

/// The clock that kernels read.
struct GpuClock {
    double tick;  ///< seconds that one count stands for
    double step;  ///< the smallest difference of two readings, in seconds
};

/// What this rank has had to do with a peer since the transport was opened: the words in the
/// inboxes count on from there.
struct Count {
    std::uint32_t sent = 0, received = 0;  ///< transfers
    std::uint32_t launches = 0;            ///< in which the two met
    std::uint64_t stale = 0;  ///< most transfers that a word between the two may be behind
};
using Counts = std::vector<Count>;  ///< by peer

/// One rank's part of a program, with all addresses.
struct Script {
    struct Move {
        int peer;
        bool sends;
        WsMove move;
    };
    std::vector<WsStep> steps;
    std::vector<Move> moves;
    std::vector<int> peers;
    std::vector<std::uint32_t> sent, received;  ///< transfers in a round, by peer
    std::uint32_t slots = 0, slot_packets = 0;
    bool guarded = false;
};

class PlayProgram final : public Program {
  public:
    PlayProgram(Context& context, Inbox& inbox, Counts& counts, Script script, Method method,
                GpuClock clock);
    void run(const Schedule& schedule, std::span<double> seconds) override;
    std::string describe() const override;
    ClockQuality clock() const override { return {clock_.step, clock_.step}; }

    void use(Method method) { method_ = method; }

  private:
    void raise_stale_words();
    void prepare(const Schedule& schedule);
    void wait_for(u64 rounds);
    void check_clock(std::span<const u64> stamps, double took);
    void count(u64 rounds);

    Context& context_;
    Inbox& inbox_;
    Counts& counts_;
    Script script_;
    Method method_;
    GpuClock clock_;
    CallId playing_;
    double told_ = 0;  ///< the most of the host's time that the GPU's clock told of; 0 unknown
    std::unique_ptr<Stream> stream_;
    Allocation orders_, stamps_;                   ///< on the device
    Allocation host_, orders_here_, stamps_here_;  ///< in pinned memory: the stream copies
};

}  // namespace wirespeed
