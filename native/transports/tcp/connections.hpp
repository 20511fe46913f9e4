// TCP connections between ranks, each known to lead to a rank of this job.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed::tcp {

/// A file descriptor, closed at the end.
class Socket {
  public:
    explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
    ~Socket();
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    int descriptor() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }

  private:
    int descriptor_;
};

/// One connection between each two ranks that need one, for both directions.
class Connections {
  public:
    /// Every rank calls it. Between ranks of one host loopback is used, and nothing else listened
    /// on. Between hosts the first address that answers, or that of the interface which the
    /// variable WIRESPEED_INTERFACE names.
    explicit Connections(Control& control);

    /// Every rank calls it, each with its peers. Throws Error on every rank where one fails.
    void add(const std::set<int>& peers);
    int to(int peer) const { return connected_.at(peer).descriptor(); }
    /// This rank's end of the first connection: "10.0.0.1".
    std::string address() const;

  private:
    static constexpr std::size_t most_addresses = 8;
    struct Place {
        std::array<std::uint32_t, most_addresses> addresses{};  ///< in network order; 0: no more
        std::uint16_t port = 0;
    };
    struct Hello {
        std::array<char, 32> token;  ///< of the job
        int rank;
    };

    Place listen();
    Socket connect(int peer) const;
    void accept(std::set<int>& missing);

    Control& control_;
    bool one_host_;
    std::array<char, 32> token_{};
    Socket listening_;
    std::vector<Place> places_;
    std::map<int, Socket> connected_;
};

}  // namespace wirespeed::tcp
