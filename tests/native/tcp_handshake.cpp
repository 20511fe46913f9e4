// Both ends of a TCP handshake, and the hash under it, for tests that play strangers.
#include <arpa/inet.h>
#include <sys/time.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "core/error.hpp"
#include "transports/tcp/handshake.hpp"

using namespace wirespeed;

namespace {

tcp::Secret secret_of_job() {
    tcp::Secret secret{};
    secret.fill(7);
    return secret;
}

void print(const Digest& digest) {
    for (const auto byte : digest) std::printf("%02x", unsigned{byte});
    std::printf("\n");
}

/// A signal every millisecond, whose handler restarts no call.
void start_signals() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    const itimerval each{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &each, nullptr);
}

}  // namespace

int main(int count, char** words) {
    const std::string what = words[1];
    if (std::getenv("SIGNALS")) start_signals();
    try {
        if (what == "hash") {
            const std::string key = words[2];
            const std::string text(std::istreambuf_iterator<char>(std::cin), {});
            const auto bytes = [](const std::string& all) {
                return std::span(reinterpret_cast<const std::uint8_t*>(all.data()), all.size());
            };
            print(sha256(bytes(text)));
            print(hmac_sha256(bytes(key), bytes(text)));
        } else if (what == "listen") {
            tcp::Listener listener(htonl(INADDR_LOOPBACK), secret_of_job(), std::atoi(words[2]));
            std::printf("%d\n", int{listener.port()});
            std::fflush(stdout);
            std::set<int> missing;
            for (int i = 3; i < count; ++i) missing.insert(std::atoi(words[i]));
            for (const auto& [rank, socket] : listener.accept(missing))
                std::printf("rank %d\n", rank);
        } else {
            const auto port = static_cast<std::uint16_t>(std::atoi(words[2]));
            tcp::call({htonl(INADDR_LOOPBACK)}, port, secret_of_job(), std::atoi(words[3]),
                      std::atoi(words[4]));
            std::printf("connected\n");
        }
    } catch (const Error& error) {
        std::printf("%s\n", error.what());
    }
    return 0;
}
