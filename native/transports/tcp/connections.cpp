#include "transports/tcp/connections.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/segment.hpp"

namespace wirespeed::tcp {
namespace {

constexpr int patience_ms = 10'000;  ///< for an address to answer
constexpr int most_waiting = 4096;

std::string text(std::uint32_t address) {
    char word[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address, word, sizeof word);
    return word;
}

sockaddr_in at(std::uint32_t address, std::uint16_t port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = address;
    place.sin_port = htons(port);
    return place;
}

/// IPv4 addresses of interfaces that are up, loopback left out.
std::vector<std::uint32_t> own_addresses() {
    const char* const wanted = std::getenv("WIRESPEED_INTERFACE");
    ifaddrs* first = nullptr;
    if (getifaddrs(&first)) throw Error("getifaddrs", "", std::strerror(errno));
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, freeifaddrs);
    std::vector<std::uint32_t> found;
    std::string names;
    for (const ifaddrs* one = first; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
        if (!(one->ifa_flags & IFF_UP) || one->ifa_flags & IFF_LOOPBACK) continue;
        names += std::string(names.empty() ? "" : ", ") + one->ifa_name;
        if (wanted && std::strcmp(wanted, one->ifa_name) != 0) continue;
        found.push_back(reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr);
    }
    if (found.empty() && wanted)
        throw Unavailable(std::string("WIRESPEED_INTERFACE=") + wanted +
                          ": no such interface with an IPv4 address; there are: " + names);
    if (found.empty()) throw Unavailable("no interface with an IPv4 address leads to other hosts");
    return found;
}

void whole(int descriptor, void* data, std::size_t bytes, bool sends, const std::string& peer) {
    auto* at = static_cast<char*>(data);
    while (bytes) {
        const ssize_t moved =
            sends ? send(descriptor, at, bytes, MSG_NOSIGNAL) : recv(descriptor, at, bytes, 0);
        if (moved <= 0)
            throw Error(sends ? "send" : "recv", peer,
                        moved ? std::strerror(errno) : "the peer has closed the connection");
        at += moved;
        bytes -= static_cast<std::size_t>(moved);
    }
}

void limit(int descriptor, int seconds) {
    const timeval time{seconds, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

void at_once(int descriptor) {
    const int yes = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

Socket::~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
}
Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

Connections::Connections(Control& control) : control_(control) {
    const std::vector<bool> here = same_host(control);
    const bool mine = std::all_of(here.begin(), here.end(), [](bool one) { return one; });
    const auto every = exchange(control, [&] { return mine; });
    one_host_ = std::all_of(every.begin(), every.end(), [](bool one) { return one; });
    std::random_device random;
    for (char& each : token_) each = static_cast<char>(random());
    control.broadcast(token_.data(), token_.size(), 0);
    places_ = exchange(control, [&] { return listen(); });
}

Connections::Place Connections::listen() {
    Place place;
    if (one_host_) {
        place.addresses[0] = htonl(INADDR_LOOPBACK);
    } else {
        const auto own = own_addresses();
        std::copy_n(own.begin(), std::min(own.size(), most_addresses), place.addresses.begin());
    }
    listening_ = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listening_) throw Error("socket", "", std::strerror(errno));
    sockaddr_in any = at(one_host_ ? htonl(INADDR_LOOPBACK) : htonl(INADDR_ANY), 0);
    socklen_t size = sizeof any;
    if (bind(listening_.descriptor(), reinterpret_cast<sockaddr*>(&any), size) ||
        ::listen(listening_.descriptor(), most_waiting) ||
        getsockname(listening_.descriptor(), reinterpret_cast<sockaddr*>(&any), &size))
        throw Error("bind and listen", text(any.sin_addr.s_addr), std::strerror(errno));
    place.port = ntohs(any.sin_port);
    return place;
}

void Connections::add(const std::set<int>& peers) {
    exchange(control_, [&] {
        std::set<int> to_come;
        for (const int peer : peers) {
            if (peer == control_.rank() || connected_.contains(peer)) continue;
            if (peer < control_.rank())
                connected_.emplace(peer, connect(peer));
            else
                to_come.insert(peer);
        }
        while (!to_come.empty()) accept(to_come);
        return true;
    });
}

/// An address may be another host's as well (of a bridge, say): only who knows the token answers.
Socket Connections::connect(int peer) const {
    const Place& place = places_[static_cast<std::size_t>(peer)];
    std::string tried;
    for (const std::uint32_t address : place.addresses) {
        if (!address) break;
        const std::string where = text(address) + " port " + std::to_string(place.port);
        try {
            Socket opened(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            if (!opened) throw Error("socket", where, std::strerror(errno));
            const timeval time{patience_ms / 1000, 0};
            setsockopt(opened.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
            const sockaddr_in there = at(address, place.port);
            if (::connect(opened.descriptor(), reinterpret_cast<const sockaddr*>(&there),
                          sizeof there))
                throw Error("connect", where, std::strerror(errno));
            limit(opened.descriptor(), patience_ms / 1000);
            Hello hello{token_, control_.rank()};
            whole(opened.descriptor(), &hello, sizeof hello, true, where);
            char answer = 0;
            whole(opened.descriptor(), &answer, 1, false, where);
            limit(opened.descriptor(), 0);
            at_once(opened.descriptor());
            return opened;
        } catch (const Error& error) {
            tried += (tried.empty() ? "" : "; ") + std::string(error.what());
        }
    }
    throw Error("rank " + std::to_string(peer) + " cannot be reached by TCP: " + tried);
}

void Connections::accept(std::set<int>& missing) {
    pollfd waits{listening_.descriptor(), POLLIN, 0};
    if (poll(&waits, 1, patience_ms) <= 0)
        throw Error("rank " + std::to_string(*missing.begin()) + " has not connected within " +
                    std::to_string(patience_ms / 1000) + " s");
    Socket opened(accept4(listening_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!opened) return;
    limit(opened.descriptor(), 1);
    try {
        Hello hello{};
        whole(opened.descriptor(), &hello, sizeof hello, false, "a newcomer");
        if (hello.token != token_ || !missing.contains(hello.rank)) return;
        char answer = 1;
        whole(opened.descriptor(), &answer, 1, true, "a newcomer");
        limit(opened.descriptor(), 0);
        at_once(opened.descriptor());
        connected_.emplace(hello.rank, std::move(opened));
        missing.erase(hello.rank);
    } catch (const Error&) {
        // It was none of ours.
    }
}

std::string Connections::address() const {
    if (connected_.empty()) return {};
    sockaddr_in own{};
    socklen_t size = sizeof own;
    getsockname(connected_.begin()->second.descriptor(), reinterpret_cast<sockaddr*>(&own), &size);
    return text(own.sin_addr.s_addr);
}

}  // namespace wirespeed::tcp
