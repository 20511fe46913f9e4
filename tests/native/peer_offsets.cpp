// Threads stand for ranks: peer_offsets RANKS CASE. Built by test_small_programs.py.
#include "transports/local/peer_offsets.hpp"

#include <cstdio>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "thread_control.hpp"

using namespace wirespeed;

namespace {

/// The place in `rank`'s send or receive buffer of its nth transfer with `peer`: anything, but
/// another one for each.
std::size_t place(int rank, int peer, int nth, bool receives) {
    return 1000003u * static_cast<unsigned>(rank) + 1009u * static_cast<unsigned>(peer) +
           10u * static_cast<unsigned>(nth) + receives;
}

std::size_t length(int from, int to, int nth) {
    return static_cast<std::size_t>(7 * from + 3 * to + nth);
}

/// Everyone sends `each` messages to everyone, itself too. Senders go through their peers upwards
/// and put all into one step; receivers go downwards and take a step for each iteration of
/// messages.
std::vector<Step> everyone(int me, int size, int each, bool at_the_peer) {
    std::vector<Step> steps(1);
    const auto offset = [&](int peer, int nth, bool receives) {
        return at_the_peer ? place(peer, me, nth, !receives) : place(me, peer, nth, receives);
    };
    for (int peer = 0; peer < size; ++peer)
        for (int nth = 0; nth < each; ++nth)
            steps[0].sends.push_back({peer, offset(peer, nth, false), length(me, peer, nth)});
    for (int nth = 0; nth < each; ++nth) {
        Step& step = steps.emplace_back();
        for (int peer = size - 1; peer >= 0; --peer)
            step.receives.push_back({peer, offset(peer, nth, true), length(peer, me, nth)});
    }
    return steps;
}

void require_same(const std::vector<Transfer>& one, const std::vector<Transfer>& other) {
    if (one.size() != other.size()) throw Error("not so many transfers");
    for (std::size_t i = 0; i < one.size(); ++i)
        if (one[i].peer != other[i].peer || one[i].offset != other[i].offset ||
            one[i].bytes != other[i].bytes)
            throw Error("transfer " + std::to_string(i) + " lies elsewhere");
}

/// The steps say where everything lies at the other end.
void tell(std::vector<Step>& steps, const std::vector<Step>& there) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
        for (std::size_t k = 0; k < steps[i].sends.size(); ++k)
            steps[i].sends[k].remote_offset = there[i].sends[k].offset;
        for (std::size_t k = 0; k < steps[i].receives.size(); ++k)
            steps[i].receives[k].remote_offset = there[i].receives[k].offset;
    }
}

void run(Control& control, const std::string& what) {
    const int me = control.rank(), size = control.size(), last = size - 1;
    const int each = what == "many" ? 100 : 3;
    std::vector<Step> steps = everyone(me, size, each, false);
    if (what.starts_with("told")) tell(steps, everyone(me, size, each, true));
    if (what == "told wrongly" && me == last) steps[0].sends[0].remote_offset += 1;
    if (what == "bytes" && me == last) steps[0].sends[0].bytes += 1;
    if (what == "too many sends" && me == last) steps[0].sends.push_back({0, 0, 8});
    if (what == "too few sends" && me == last) steps[0].sends.pop_back();
    if (what == "no such rank" && me == last) steps[0].sends[0].peer = size;
    if (what == "nothing") steps.assign(2, {});
    const auto there = peer_offsets(control, steps);
    if (what == "nothing") {
        if (there.size() != 2 || !there[0].sends.empty()) throw Error("something out of nothing");
        return;
    }
    const auto right = everyone(me, size, each, true);
    if (there.size() != right.size()) throw Error("not so many steps");
    for (std::size_t i = 0; i < right.size(); ++i) {
        require_same(there[i].sends, right[i].sends);
        require_same(there[i].receives, right[i].receives);
    }
}

}  // namespace

int main(int, char** arguments) {
    const int size = std::stoi(arguments[1]);
    Room room(size);
    std::vector<std::string> said(static_cast<std::size_t>(size));
    {
        std::vector<std::jthread> ranks;
        for (int rank = 0; rank < size; ++rank)
            ranks.emplace_back([&, rank] {
                ThreadControl control(room, rank);
                try {
                    run(control, arguments[2]);
                } catch (const std::exception& error) {
                    said[static_cast<std::size_t>(rank)] = error.what();
                }
            });
    }
    for (const auto& words : said) std::printf("%s\n", words.c_str());
    std::printf("%d gathers\n", room.gathers.load());
    return 0;
}
