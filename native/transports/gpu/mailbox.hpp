// What each GPU keeps for its peers to write into while kernels run: a ring of packets and words
// that only grow, one set for each peer.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed {

class Mailbox {
  public:
    /// Every rank calls it. `most_blocks`: of a kernel, on any rank.
    Mailbox(Context& context, unsigned most_blocks);
    ~Mailbox();
    /// Every rank calls it: the memory is freed when no peer has it open any more. Without it the
    /// memory stays until the process ends.
    void close();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    /// Lets the words that `peer` writes here say that so many transfers have been sent to it and
    /// received from it. Nobody may wait for them or write them meanwhile.
    void raise(int peer, std::uint32_t sent, std::uint32_t received);

    std::size_t ring_bytes() const { return ring_bytes_; }

    /// What `writer` writes and `owner` reads; one of them is this rank.
    std::uint64_t ring(int owner, int writer) { return part(owner, writer, 0); }
    std::uint64_t flags(int owner, int writer) { return part(owner, writer, ring_bytes_); }
    std::uint64_t ready_flags(int owner, int writer) {
        return part(owner, writer, ring_bytes_ + words_bytes_);
    }
    std::uint64_t credit(int owner, int writer) {
        return part(owner, writer, ring_bytes_ + 2 * words_bytes_);
    }
    /// Room for messages, of ring_bytes(). (What lies in a ring may look like a packet.)
    std::uint64_t landing(int owner, int writer) {
        return part(owner, writer, ring_bytes_ + 2 * words_bytes_ + 2 * line);
    }
    std::uint64_t start(int owner, int writer) {
        return part(owner, writer, ring_bytes_ + 2 * words_bytes_ + line);
    }

  private:
    static constexpr std::size_t line = 128;  ///< words of different kinds share no cache line
    std::uint64_t part(int owner, int writer, std::size_t at);
    void close_peers() noexcept;

    Context& context_;
    std::size_t ring_bytes_, words_bytes_, each_;
    Allocation mine_;
    std::vector<ShareHandle> handles_;
    std::vector<std::byte*> opened_;
};

}  // namespace wirespeed
