// Parts of the persistent kernel, on the CPU: play credit|meet. Built by test_play.py; what is
// wrong is one line, and the exit code 1.
#include "kernels/play.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int wrong(const char* what) {
    std::printf("%s\n", what);
    return 1;
}

/// A sender reads the credit word only when what it knows is not enough. Here the word says once
/// that 20 messages were taken; then it says 0, and whoever reads it again waits in vain.
int credit() {
    constexpr u32 slots = 16;
    std::vector<WsPacket> ring(slots);
    u32 word = 0, stop = 0, stopped = 0, known[1] = {0};
    alignas(16) u8 message[8] = {1, 2, 3};
    WsMove move{};
    move.mine = (u64)message;
    move.bytes = sizeof message;
    move.box = (u64)ring.data();
    move.credit = (u64)&word;
    move.each = move.place = 1;
    move.packets = 1;
    const WsStep step = {1, 0};
    const WsScene scene = {&stop, slots - 1, 1, 0, slots / 4};
    WsBulk bulk;
    const auto sends = [&](u32 round) {
        return ws_any_round<ws_packets>(scene, &step, 1, &move, known, round, bulk, &stopped);
    };
    for (u32 round = 0; round < slots; ++round)
        if (!sends(round)) return wrong("a ring of empty slots takes no message");
    word = 20;
    if (!sends(slots)) return wrong("a slot that was emptied is not used");
    word = 0;
    stop = 1;
    for (u32 round = slots + 1; round < slots + 20; ++round)
        if (!sends(round)) return wrong("the credit word is read although enough was known");
    if (sends(slots + 20)) return wrong("a slot is used that nobody has emptied");
    return 0;
}

/// Ranks meet in whatever order each has its peers: here each has the next one first.
int meet() {
    constexpr u32 ranks = 3;
    u32 words[ranks][ranks] = {}, stop = 0, met = 0;
    std::vector<std::thread> threads;
    for (u32 me = 0; me < ranks; ++me)
        threads.emplace_back([&, me] {
            WsPeer peers[ranks - 1];
            for (u32 i = 1; i < ranks; ++i) {
                const u32 peer = (me + i) % ranks;
                peers[i - 1] = {(u64)&words[peer][me], (u64)&words[me][peer], 2, 0};
            }
            WsPlay play{};
            play.peers = (u64)peers;
            play.peer_count = ranks - 1;
            if (ws_meet(play, 0, true, 0, 1, &stop)) ws_atomic_add(&met, 1);
        });
    // Whoever waits in a circle waits until it is told to stop.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ws_load_flag(&met) < ranks && std::chrono::steady_clock::now() < patience)
        std::this_thread::yield();
    ws_store_flag(&stop, 1);
    for (auto& thread : threads) thread.join();
    return met == ranks ? 0 : wrong("the ranks wait for each other in a circle");
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && std::strcmp(words[1], "credit") == 0) return credit();
    if (count == 2 && std::strcmp(words[1], "meet") == 0) return meet();
    return wrong("play credit|meet");
}
