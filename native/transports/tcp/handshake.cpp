#include "transports/tcp/handshake.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "core/error.hpp"

namespace wirespeed::tcp {
namespace {

constexpr std::chrono::seconds patience{10};       ///< for a rank to come, or an address to answer
constexpr std::chrono::seconds newcomer_limit{1};  ///< for a newcomer to say which rank it is
constexpr std::chrono::milliseconds time_to_speak{50};
constexpr std::chrono::milliseconds pause{50};
constexpr std::size_t max_newcomers = 128;
constexpr int max_waiting = 4096;
constexpr std::array<char, 8> magic{'w', 's', 't', 'c', 'p', '0', '0', '1'};

Digest mac(const Secret& secret, char side, const Greeting& hello, const Secret& listeners_nonce) {
    std::vector<std::uint8_t> text{static_cast<std::uint8_t>(side)};
    const auto add = [&](const void* data, std::size_t bytes) {
        const auto* const at = static_cast<const std::uint8_t*>(data);
        text.insert(text.end(), at, at + bytes);
    };
    add(&hello, offsetof(Greeting, mac));
    add(listeners_nonce.data(), listeners_nonce.size());
    return hmac_sha256(secret, text);
}

/// Waits for events as poll() does, also when signals arrive; returns at `until` at the latest.
void wait_for(std::vector<pollfd>& waits, Clock::time_point until) {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        const int ready = poll(waits.data(), waits.size(),
                               static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
        if (ready >= 0) return;
        if (errno != EINTR) throw Error("poll", "", std::strerror(errno));
    }
}

void wait_for(int descriptor, short event, Clock::time_point until, const std::string& peer) {
    std::vector<pollfd> waits{{descriptor, event, 0}};
    wait_for(waits, until);
    if (!waits[0].revents) throw Error("TCP handshake", peer, "no answer in time");
}

bool passes(int error) { return error == EAGAIN || error == EINTR; }

/// All these bytes, sent or received. False: the peer has closed the connection.
bool whole(int descriptor, void* data, std::size_t bytes, bool sends, Clock::time_point until,
           const std::string& peer) {
    auto* at = static_cast<char*>(data);
    while (bytes) {
        wait_for(descriptor, sends ? POLLOUT : POLLIN, until, peer);
        const ssize_t moved = sends ? send(descriptor, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : recv(descriptor, at, bytes, MSG_DONTWAIT);
        if (moved < 0 && passes(errno)) continue;
        if (moved <= 0) return false;
        at += moved;
        bytes -= static_cast<std::size_t>(moved);
    }
    return true;
}

sockaddr_in place(std::uint32_t address, std::uint16_t port) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = address;
    there.sin_port = htons(port);
    return there;
}

void send_at_once(const Socket& socket) {
    const int yes = 1;
    setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// False: the connection was closed before all was said.
bool introduce(const Socket& opened, const Secret& secret, int rank, int to,
               Clock::time_point until, const std::string& where) {
    Secret nonce{};
    if (!whole(opened.descriptor(), nonce.data(), nonce.size(), false, until, where)) return false;
    Greeting hello{magic, rank, to, random_secret(), {}};
    hello.mac = mac(secret, 'c', hello, nonce);
    if (!whole(opened.descriptor(), &hello, sizeof hello, true, until, where)) return false;
    Digest answer{};
    if (!whole(opened.descriptor(), answer.data(), answer.size(), false, until, where))
        return false;
    if (!same_digest(answer, mac(secret, 'l', hello, nonce)))
        throw Error("TCP handshake", where, "another program answers, not a rank of this job");
    return true;
}

/// Connections to the same rank by all its addresses. Each begins a little after the one before it,
/// or as soon as that has failed, so that an address that nobody answers at delays little
/// (RFC 8305).
class Attempts {
  public:
    struct ConnectionAttempt {
        std::uint32_t address = 0;
        Socket socket;
        int error = 0;  ///< of connect(); 0: connected
    };

    Attempts(std::vector<std::uint32_t> addresses, std::uint16_t port)
        : addresses_(std::move(addresses)), port_(port) {}

    /// The next that is connected or has failed; none: all have been, or no other is until then.
    std::optional<ConnectionAttempt> next(Clock::time_point until) {
        for (;;) {
            if (begun_ < addresses_.size() && (attempts_.empty() || Clock::now() >= next_)) begin();
            if (attempts_.empty()) return std::nullopt;
            std::vector<pollfd> waits;
            for (const ConnectionAttempt& attempt : attempts_)
                waits.push_back({attempt.socket.descriptor(), POLLOUT, 0});
            wait_for(waits, begun_ < addresses_.size() ? std::min(next_, until) : until);
            for (std::size_t i = 0; i < waits.size(); ++i)
                if (waits[i].revents) return taken(i);
            if (Clock::now() >= until) return std::nullopt;
        }
    }

  private:
    void begin() {
        ConnectionAttempt attempt{addresses_[begun_++], Socket(socket(AF_INET, kind, 0))};
        const std::string where = address_text(attempt.address);
        if (!attempt.socket) throw Error("socket", where, std::strerror(errno));
        const sockaddr_in there = place(attempt.address, port_);
        if (::connect(attempt.socket.descriptor(), reinterpret_cast<const sockaddr*>(&there),
                      sizeof there) &&
            errno != EINPROGRESS && errno != EINTR)
            attempt.error = errno;
        attempts_.push_back(std::move(attempt));
        next_ = Clock::now() + apart;
    }

    ConnectionAttempt taken(std::size_t i) {
        ConnectionAttempt attempt = std::move(attempts_[i]);
        attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
        socklen_t size = sizeof attempt.error;
        if (!attempt.error)
            getsockopt(attempt.socket.descriptor(), SOL_SOCKET, SO_ERROR, &attempt.error, &size);
        return attempt;
    }

    static constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    static constexpr std::chrono::milliseconds apart{250};
    std::vector<std::uint32_t> addresses_;
    std::uint16_t port_;
    std::size_t begun_ = 0;
    Clock::time_point next_;
    std::vector<ConnectionAttempt> attempts_;
};

}  // namespace

Socket::~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
}
Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

Secret random_secret() {
    std::random_device random;
    Secret secret{};
    for (auto& each : secret) each = static_cast<std::uint8_t>(random());
    return secret;
}

std::string address_text(std::uint32_t address) {
    char word[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address, word, sizeof word);
    return word;
}

Listener::Listener(std::uint32_t address, const Secret& secret, int rank)
    : secret_(secret), rank_(rank),
      listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (!listening_) throw Error("socket", "", std::strerror(errno));
    sockaddr_in own = place(address, 0);
    socklen_t size = sizeof own;
    if (bind(listening_.descriptor(), reinterpret_cast<sockaddr*>(&own), size) ||
        listen(listening_.descriptor(), max_waiting) ||
        getsockname(listening_.descriptor(), reinterpret_cast<sockaddr*>(&own), &size))
        throw Error("bind and listen", address_text(address), std::strerror(errno));
    port_ = ntohs(own.sin_port);
}

std::map<int, Socket> Listener::accept(std::set<int> missing) {
    std::map<int, Socket> came;
    std::size_t strangers = 0;
    auto until = Clock::now() + patience;
    while (!missing.empty()) {
        const auto now = Clock::now();
        if (now > until)
            throw Error("rank " + std::to_string(*missing.begin()) + " has not connected within " +
                        std::to_string(patience.count()) + " s; " + std::to_string(strangers) +
                        " connections of strangers were closed");
        wait(until);
        welcome();
        const bool full = crowded();
        std::erase_if(newcomers_, [&](Newcomer& newcomer) {
            const NewcomerState state = hear(newcomer, missing);
            if (state == NewcomerState::waits && end_of(newcomer, full) > now) return false;
            full_ = false;
            if (state != NewcomerState::rank) {
                ++strangers;
                return true;
            }
            send_at_once(newcomer.socket);
            missing.erase(newcomer.hello.rank);
            came.emplace(newcomer.hello.rank, std::move(newcomer.socket));
            until = Clock::now() + patience;
            return true;
        });
    }
    newcomers_.clear();
    return came;
}

bool Listener::crowded() const { return full_ || newcomers_.size() >= max_newcomers; }

/// Who says nothing makes room, when there is none, for one who waits; a rank calls again.
Clock::time_point Listener::end_of(const Newcomer& newcomer, bool full) const {
    const bool silent = newcomer.heard == 0;
    return full && silent ? newcomer.until - newcomer_limit + time_to_speak : newcomer.until;
}

void Listener::wait(Clock::time_point until) {
    std::vector<pollfd> waits;
    for (const Newcomer& newcomer : newcomers_) {
        waits.push_back({newcomer.socket.descriptor(), POLLIN, 0});
        until = std::min(until, end_of(newcomer, crowded()));
    }
    if (!crowded()) waits.push_back({listening_.descriptor(), POLLIN, 0});
    wait_for(waits, until);
}

void Listener::welcome() {
    while (!crowded()) {
        Socket opened(
            accept4(listening_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!opened) {
            full_ = (errno == EMFILE || errno == ENFILE) && !newcomers_.empty();
            if (!full_ && (errno == EMFILE || errno == ENFILE))
                throw Error("accept", "", std::strerror(errno));
            return;
        }
        Secret nonce = random_secret();
        // The buffer of a new connection has room for it.
        if (send(opened.descriptor(), nonce.data(), nonce.size(), MSG_NOSIGNAL) < 0) continue;
        newcomers_.push_back({std::move(opened), Clock::now() + newcomer_limit, nonce});
    }
}

Listener::NewcomerState Listener::hear(Newcomer& newcomer, const std::set<int>& missing) const {
    auto* const at = reinterpret_cast<char*>(&newcomer.hello) + newcomer.heard;
    const ssize_t moved =
        recv(newcomer.socket.descriptor(), at, sizeof(Greeting) - newcomer.heard, MSG_DONTWAIT);
    if (moved < 0 && passes(errno)) return NewcomerState::waits;
    if (moved <= 0) return NewcomerState::stranger;
    newcomer.heard += static_cast<std::size_t>(moved);
    if (newcomer.heard < sizeof(Greeting)) return NewcomerState::waits;
    const Greeting& hello = newcomer.hello;
    if (hello.magic != magic || !same_digest(hello.mac, mac(secret_, 'c', hello, newcomer.nonce)) ||
        hello.to != rank_ || !missing.contains(hello.rank))
        return NewcomerState::stranger;
    Digest answer = mac(secret_, 'l', hello, newcomer.nonce);
    const ssize_t sent = send(newcomer.socket.descriptor(), answer.data(), answer.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == static_cast<ssize_t>(answer.size()) ? NewcomerState::rank
                                                       : NewcomerState::stranger;
}

Socket call(const std::vector<std::uint32_t>& addresses, std::uint16_t port, const Secret& secret,
            int rank, int to) {
    const auto until = Clock::now() + patience;
    std::string tried;
    std::vector<std::uint32_t> possible = addresses;
    while (!possible.empty()) {
        Attempts attempts(possible, port);
        while (auto attempt = attempts.next(until)) {
            const std::string where =
                address_text(attempt->address) + " port " + std::to_string(port);
            std::string why = attempt->error ? std::strerror(attempt->error) : "";
            try {
                if (why.empty() && introduce(attempt->socket, secret, rank, to, until, where)) {
                    send_at_once(attempt->socket);
                    return std::move(attempt->socket);
                }
            } catch (const Error& error) {
                why = error.what();
            }
            // On a busy host a rank may have answered too late for the listener: it is called
            // again.
            if (why.empty() && Clock::now() < until) continue;
            if (why.empty()) why = "the connection is closed before an answer";
            tried += (tried.empty() ? "" : "; ") + where + ": " + why;
            std::erase(possible, attempt->address);
        }
        if (Clock::now() >= until) break;
        if (!possible.empty()) std::this_thread::sleep_for(pause);
    }
    for (const std::uint32_t address : possible)
        tried += (tried.empty() ? "" : "; ") + address_text(address) + " port " +
                 std::to_string(port) + ": no answer in time";
    throw Error("rank " + std::to_string(to) + " cannot be reached by TCP: " + tried);
}

}  // namespace wirespeed::tcp
