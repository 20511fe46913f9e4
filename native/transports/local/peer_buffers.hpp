// Buffers in device memory that the ranks of one host open from each other.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed {

class PeerBuffers {
  public:
    /// Every rank calls it. Throws Unavailable on every rank when they are not on one host, or when
    /// this kind of device has no memory to open; `path` is how the user calls it. With the option
    /// "within_hosts" there may be several hosts, and the transfers of each stay in it.
    PeerBuffers(Context& context, const std::string& path);
    ~PeerBuffers();
    PeerBuffers(const PeerBuffers&) = delete;
    PeerBuffers& operator=(const PeerBuffers&) = delete;

    /// Every rank calls these. Throws Error on every rank when one has no room.
    Buffers allocate(Memory kind, std::size_t bytes);
    void release(Buffers& buffers);
    /// On this rank alone: closes what it has opened; its own memory stays, a peer may use it.
    void abandon(Buffers& buffers) noexcept;

    /// The peer's buffers of the same allocation, as this device reaches them. Where this rank's
    /// two buffers are one, the peer's are too. Throws Unavailable for a peer on another host.
    std::byte* send_of(const Buffers& buffers, int peer);
    std::byte* receive_of(const Buffers& buffers, int peer);

  private:
    struct Handles {
        ShareHandle send, receive;
    };
    struct Opened {
        std::vector<Handles> handles;             ///< by rank
        std::map<int, std::byte*> send, receive;  ///< by rank, as far as opened
    };
    void check_here(std::size_t rank) const;
    std::byte* reach(const Buffers& buffers, int peer, bool send);
    void close(Opened& opened) noexcept;

    Context& context_;
    std::string path_;
    std::vector<bool> here_;  ///< by rank: on this rank's host?
    std::map<std::byte*, Opened> all_;
};

struct SharedDevice {
    std::size_t one, other;  ///< ranks
    std::string id;
};
/// The first two ranks that drive the same device, if any do. Every rank calls it.
std::optional<SharedDevice> shared_device(Context& context);

/// Throws Unavailable on every rank when two ranks drive the same device. Every rank calls it.
void refuse_shared_devices(Context& context, const std::string& path);

}  // namespace wirespeed
