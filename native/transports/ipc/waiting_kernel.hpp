// A kernel that copies a run's messages to the peers: it is launched once for a run, stays for
// exactly its messages, and starts each one when the host says so by a word in pinned memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/persistent_types.h"
#include "kernels/waiting_copy_types.h"
#include "transports/local/soak_turn.hpp"
#include "transports/transport.hpp"

namespace wirespeed::ipc {

class WaitingKernel {
  public:
    static constexpr std::size_t most_peers = 4;

    /// Does a kernel on this device run, and see the host's words, while the host goes on? Not
    /// where a launch returns at the kernel's end, as under some profilers.
    static bool can_wait(Context& context);
    /// Can this rank's part of a program have such a kernel? Not beside launches of a step's work,
    /// whose kernels the driver might load while this one stays, for which it waits for this one's
    /// end. The turns of a soak of short messages it does itself.
    static bool can_carry(Device& device, std::span<const Step> steps);

    /// `sent`: messages to each peer so far, which outlives the kernel.
    WaitingKernel(Context& context, const std::vector<std::uint32_t>& sent);
    ~WaitingKernel() { stop(); }
    WaitingKernel(const WaitingKernel&) = delete;
    WaitingKernel& operator=(const WaitingKernel&) = delete;

    /// The next transfer of an iteration; `arrived` is the receiver's word, as the device sees it.
    void add(int peer, std::byte* to, std::byte* from, std::size_t bytes, std::uint32_t* arrived);
    /// The next turn of a soak in an iteration.
    void add_turn(const SoakTurn& turn);
    /// After the last add(), before the first begin(): what the kernel reads is put on the device.
    void load();

    void begin(std::uint64_t iterations);
    /// Lets all messages to the peer up to this number go.
    void ring(int peer, std::uint32_t number);
    /// Until they have gone. Throws Error where the kernel has ended without them.
    void wait(int peer, std::uint32_t number);
    /// Lets the next turn come.
    void ring_turn();
    /// Until all turns that may come have ended but the last `but`. Throws Error where the kernel
    /// has ended before.
    void wait_for_turns(std::uint32_t but);
    /// Back when the kernel has ended, as it does by itself after the run's last message.
    void end();
    /// Makes it end before that; nothing where none runs.
    void stop() noexcept;

  private:
    struct Words;
    struct Peer {
        int rank;
        std::size_t largest;  ///< bytes of a transfer
        WsWaitingPeer described;
        std::vector<WsWaitingTransfer> transfers;
    };
    std::size_t place_of(int peer) const;
    /// Of a peer; behind the last one's those of the turns.
    Words& words(std::size_t place) const;
    void wait(Words& words, std::uint32_t number, const std::string& for_what);
    std::uint32_t* stop_word() const;
    /// `patience`: so many seconds it waits for a word; 0: for ever.
    void launch(std::uint64_t iterations, double patience);

    Context& context_;
    const std::vector<std::uint32_t>& sent_;
    std::vector<Peer> peers_;
    std::vector<WsStep> turns_;
    std::uint64_t soak_ = 0;        ///< address of its WsSoak
    std::uint32_t rung_turns_ = 0;  ///< in this launch
    std::unique_ptr<Stream> stream_;
    Allocation on_host_, on_device_;
    std::size_t counters_ = 0, turns_at_ = 0;  ///< where they lie on the device
    unsigned blocks_ = 1, threads_ = 32;
    bool runs_ = false, stopped_ = false;
};

/// Does a soak's turns by such a kernel.
class WaitingWorker final : public Worker {
  public:
    explicit WaitingWorker(std::shared_ptr<WaitingKernel> kernel) : kernel_(std::move(kernel)) {}
    void start(std::span<const Work> work, bool) override {
        if (work.empty()) return;
        kernel_->wait_for_turns(1);
        kernel_->ring_turn();
    }
    void finish() override { kernel_->wait_for_turns(0); }

  private:
    std::shared_ptr<WaitingKernel> kernel_;
};

/// A program whose messages such a kernel carries.
std::unique_ptr<Program> with_waiting_kernel(std::unique_ptr<Program> program,
                                             std::shared_ptr<WaitingKernel> kernel);

}  // namespace wirespeed::ipc
