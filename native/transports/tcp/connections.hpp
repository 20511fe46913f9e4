// TCP connections between ranks, each known to lead to a rank of this job.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "transports/tcp/handshake.hpp"
#include "transports/transport.hpp"

namespace wirespeed::tcp {

/// One connection between each two ranks that need one, for both directions.
class Connections {
  public:
    /// Every rank calls it. Between ranks of one host loopback is used, and nothing else listened
    /// on. Between hosts the first address that answers, or that of the interface which the
    /// variable WIRESPEED_INTERFACE names; then nothing else is listened on, either.
    explicit Connections(Control& control);

    /// Every rank calls it, each with its peers; ranks listen in this call alone. Throws Error on
    /// every rank where one fails.
    void add(const std::set<int>& peers);
    int to(int peer) const { return connected_.at(peer).descriptor(); }
    /// This rank's end of the first connection: "10.0.0.1".
    std::string address() const;

  private:
    static constexpr std::size_t most_addresses = 8;
    struct ListeningPort {
        std::array<std::uint32_t, most_addresses> addresses{};  ///< in network order; 0: no more
        std::uint16_t port = 0;
    };
    std::uint32_t listening_address() const;
    Socket connect(int peer, const ListeningPort& place) const;

    Control& control_;
    bool one_host_;
    Secret secret_{};
    std::vector<std::uint32_t> addresses_;  ///< of this rank, in network order
    std::map<int, Socket> connected_;
};

}  // namespace wirespeed::tcp
