// A kernel that copies a run's messages to the peers: it is launched once for a run, stays for
// exactly its messages, and starts each one when the host says so by a word in pinned memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/waiting_copy_types.h"
#include "transports/transport.hpp"

namespace wirespeed::ipc {

class WaitingKernel {
  public:
    static constexpr std::size_t most_peers = 4;

    /// Does a kernel on this device run, and see the host's words, while the host goes on? Not
    /// where a launch returns at the kernel's end, as under some profilers.
    static bool can_wait(Context& context);
    /// Can this rank's part of a program have such a kernel? Not beside a step's work, whose
    /// kernels the driver might load while this one stays, for which it waits for this one's end.
    static bool can_carry(Device& device, std::span<const Step> steps);

    /// `sent`: messages to each peer so far, which outlives the kernel.
    WaitingKernel(Context& context, const std::vector<std::uint32_t>& sent);
    ~WaitingKernel() { stop(); }
    WaitingKernel(const WaitingKernel&) = delete;
    WaitingKernel& operator=(const WaitingKernel&) = delete;

    /// The next transfer of an iteration; `arrived` is the receiver's word, as the device sees it.
    void add(int peer, std::byte* to, std::byte* from, std::size_t bytes, std::uint32_t* arrived);
    /// After the last add(), before the first begin(): what the kernel reads is put on the device.
    void load();

    void begin(std::uint64_t iterations);
    /// Lets all messages to the peer up to this number go.
    void ring(int peer, std::uint32_t number);
    /// Until they have gone. Throws Error where the kernel has ended without them.
    void wait(int peer, std::uint32_t number);
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
    Words& words(std::size_t place) const;
    std::uint32_t* stop_word() const;
    /// `patience`: so many seconds it waits for a word; 0: for ever.
    void launch(std::uint64_t iterations, double patience);

    Context& context_;
    const std::vector<std::uint32_t>& sent_;
    std::vector<Peer> peers_;
    std::unique_ptr<Stream> stream_;
    Allocation on_host_, on_device_;
    std::size_t counters_ = 0;  ///< where they lie on the device
    unsigned blocks_ = 1, threads_ = 32;
    bool runs_ = false, stopped_ = false;
};

/// A program whose messages such a kernel carries.
std::unique_ptr<Program> with_waiting_kernel(std::unique_ptr<Program> program,
                                             std::shared_ptr<WaitingKernel> kernel);

}  // namespace wirespeed::ipc
