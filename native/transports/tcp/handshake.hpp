// TCP connections whose two ends have shown each other that they are ranks of this job.
//
// The listener sends a nonce. The caller answers with its rank, the rank it wants, a nonce of its
// own and an HMAC-SHA256 of all that under the job's secret; the listener answers with another one.
// The secret itself never travels. What follows is neither encrypted nor signed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/sha256.hpp"

namespace wirespeed::tcp {

using Secret = std::array<std::uint8_t, 32>;
using Clock = std::chrono::steady_clock;

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

/// Random bytes.
Secret random_secret();
/// "10.0.0.1". Addresses are in network order.
std::string address_text(std::uint32_t address);

/// The words by which a rank introduces itself.
struct Greeting {
    std::array<char, 8> magic;
    std::int32_t rank, to;
    Secret nonce;
    Digest mac;
};

/// Hears all newcomers at once, each for a second.
class Listener {
  public:
    /// Listens at any port of the address, for those who want `rank`.
    Listener(std::uint32_t address, const Secret& secret, int rank);
    std::uint16_t port() const { return port_; }
    /// Connections to all of these ranks. Throws Error when none of them has come for ten seconds.
    std::map<int, Socket> accept(std::set<int> missing);

  private:
    struct Newcomer {
        Socket socket;
        Clock::time_point until;
        Secret nonce;
        Greeting hello{};
        std::size_t heard = 0;
    };
    enum class NewcomerState { waits, rank, stranger };
    bool crowded() const;
    Clock::time_point end_of(const Newcomer& newcomer, bool full) const;
    void welcome();
    NewcomerState hear(Newcomer& newcomer, const std::set<int>& missing) const;
    void wait(Clock::time_point until);

    Secret secret_;
    int rank_;
    Socket listening_;
    std::uint16_t port_ = 0;
    std::vector<Newcomer> newcomers_;
    bool full_ = false;  ///< no descriptor is left until a newcomer has gone
};

/// A connection to rank `to`, which may accept later, at the first of its addresses that answers.
/// Throws Error after ten seconds, and where nobody who answers knows the secret.
Socket call(const std::vector<std::uint32_t>& addresses, std::uint16_t port, const Secret& secret,
            int rank, int to);

}  // namespace wirespeed::tcp
