#include "transports/tcp/connections.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace wirespeed::tcp {

Connections::~Connections() {
    for (const auto& [peer, descriptor] : descriptors_) close(descriptor);
}

void Connections::add(const std::set<int>& peers) {
    std::vector<int> lacking;
    for (const int peer : peers)
        if (peer != control_.rank() && !descriptors_.contains(peer)) lacking.push_back(peer);
    const std::vector<int> made = control_.connect(lacking);
    for (std::size_t i = 0; i < made.size(); ++i) descriptors_.emplace(lacking[i], made[i]);
}

std::string Connections::address() const {
    if (descriptors_.empty()) return {};
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* const place = reinterpret_cast<sockaddr*>(&own);
    char text[NI_MAXHOST] = "";
    if (getsockname(descriptors_.begin()->second, place, &size) == 0)
        getnameinfo(place, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    // IPv4 at a socket of both families.
    const std::string mapped = "::ffff:", found = text;
    return found.starts_with(mapped) ? found.substr(mapped.size()) : found;
}

}  // namespace wirespeed::tcp
