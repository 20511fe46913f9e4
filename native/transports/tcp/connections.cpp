#include "transports/tcp/connections.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/segment.hpp"

namespace wirespeed::tcp {
namespace {

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

}  // namespace

Connections::Connections(Control& control) : control_(control) {
    const std::vector<bool> here = same_host(control);
    const bool mine = std::all_of(here.begin(), here.end(), [](bool one) { return one; });
    const auto every = exchange(control, [&] { return mine; });
    one_host_ = std::all_of(every.begin(), every.end(), [](bool one) { return one; });
    if (control.rank() == 0) secret_ = random_secret();
    control.broadcast(secret_.data(), secret_.size(), 0);
    exchange(control, [&] {
        addresses_ = one_host_ ? std::vector{htonl(INADDR_LOOPBACK)} : own_addresses();
        addresses_.resize(std::min(addresses_.size(), most_addresses));
        return true;
    });
}

std::uint32_t Connections::listening_address() const {
    return addresses_.size() == 1 ? addresses_[0] : htonl(INADDR_ANY);
}

void Connections::add(const std::set<int>& peers) {
    std::set<int> called, to_come;
    for (const int peer : peers) {
        if (peer == control_.rank() || connected_.contains(peer)) continue;
        (peer < control_.rank() ? called : to_come).insert(peer);
    }
    std::unique_ptr<Listener> listener;
    const auto places = exchange(control_, [&] {
        ListeningPort own;
        if (to_come.empty()) return own;
        listener = std::make_unique<Listener>(listening_address(), secret_, control_.rank());
        std::copy(addresses_.begin(), addresses_.end(), own.addresses.begin());
        own.port = listener->port();
        return own;
    });
    exchange(control_, [&] {
        for (const int peer : called)
            connected_.emplace(peer, connect(peer, places[static_cast<std::size_t>(peer)]));
        if (listener) connected_.merge(listener->accept(to_come));
        return true;
    });
}

/// An address may be another host's as well (of a bridge, say): only who knows the secret answers.
Socket Connections::connect(int peer, const ListeningPort& place) const {
    const auto end = std::find(place.addresses.begin(), place.addresses.end(), 0U);
    return call({place.addresses.begin(), end}, place.port, secret_, control_.rank(), peer);
}

std::string Connections::address() const {
    if (connected_.empty()) return {};
    sockaddr_in own{};
    socklen_t size = sizeof own;
    getsockname(connected_.begin()->second.descriptor(), reinterpret_cast<sockaddr*>(&own), &size);
    return address_text(own.sin_addr.s_addr);
}

}  // namespace wirespeed::tcp
