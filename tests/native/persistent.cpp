// Parts of the persistent kernel, on the CPU: persistent credit|rendezvous|moved. Built by
// test_kernels_on_the_cpu.py; what is wrong is one line, and the exit code 1.
#include "kernels/persistent.h"

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
/// that 20 messages were taken; then it says 0, and whoever reads it again waits for ever.
int credit() {
    constexpr u32 slots = 16;
    std::vector<WsPacket> ring(slots);
    u32 word = 0, stop = 0, stopped = 0, known[1] = {0};
    alignas(16) u8 message[8] = {1, 2, 3};
    WsOp op{};
    op.mine = (u64)message;
    op.bytes = sizeof message;
    op.ring = (u64)ring.data();
    op.credit = (u64)&word;
    op.each = op.place = 1;
    op.packets = 1;
    const WsStep step = {1, 0, 0, 0};
    WsProgram program{};
    program.step_count = 1;
    const WsCommon common = {&stop, slots - 1, 1, 0, slots / 4};
    WsTma tma;
    const auto sends = [&](u32 iteration) {
        return ws_any_iteration<ws_ll, false, false>(program, common, &step, &op, known, iteration,
                                                     false, tma, &stopped);
    };
    for (u32 iteration = 0; iteration < slots; ++iteration)
        if (!sends(iteration)) return wrong("a ring of empty slots takes no message");
    word = 20;
    if (!sends(slots)) return wrong("a slot that was emptied is not used");
    word = 0;
    stop = 1;
    for (u32 iteration = slots + 1; iteration < slots + 20; ++iteration)
        if (!sends(iteration)) return wrong("the credit word is read although enough was known");
    if (sends(slots + 20)) return wrong("a slot is used that nobody has emptied");
    return 0;
}

/// Ranks wait for each other in whatever order each has its peers: here each has the next one
/// first. What a rank did with its buffer before comes before what its peers do there.
int rendezvous() {
    constexpr u32 ranks = 3;
    u32 words[ranks][ranks] = {}, stop = 0, met = 0;
    u64 buffers[ranks] = {};
    std::vector<std::thread> threads;
    for (u32 me = 0; me < ranks; ++me)
        threads.emplace_back([&, me] {
            WsPeer peers[ranks - 1];
            for (u32 i = 1; i < ranks; ++i) {
                const u32 peer = (me + i) % ranks;
                peers[i - 1] = {(u64)&words[peer][me], (u64)&words[me][peer], 2, 0};
            }
            WsProgram program{};
            program.peers = (u64)peers;
            program.peer_count = ranks - 1;
            buffers[me] = me + 1;
            if (!ws_rendezvous(program, 0, true, 0, 1, &stop)) return;
            if (buffers[0] == 1 && buffers[1] == 2 && buffers[2] == 3) ws_atomic_add(&met, 1);
        });
    // Whoever waits in a circle waits until it is told to stop.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ws_load_flag(&met) < ranks && std::chrono::steady_clock::now() < patience)
        std::this_thread::yield();
    ws_store_flag(&stop, 1);
    for (auto& thread : threads) thread.join();
    return met == ranks ? 0 : wrong("the ranks wait for each other in a circle");
}

/// Where work lags, a block may be a step ahead of another one: each step has all blocks' ends.
int moved() {
    u32 words[2] = {}, step = 0;
    WsProgram program{};
    program.moved = (u64)words;
    program.work_lags = 1;
    wirespeed::cpu::grid.blocks = 2;
    for (; step < 8; step += 2) {
        if (ws_last_moved(program, step)) return wrong("a step ends before its second block");
        if (ws_last_moved(program, step + 1))
            return wrong("a block that is ahead ends the step of the one that is behind");
        if (!ws_last_moved(program, step)) return wrong("a step does not end with its last block");
        if (!ws_last_moved(program, step + 1)) return wrong("the step after it does not end");
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && std::strcmp(words[1], "credit") == 0) return credit();
    if (count == 2 && std::strcmp(words[1], "rendezvous") == 0) return rendezvous();
    if (count == 2 && std::strcmp(words[1], "moved") == 0) return moved();
    return wrong("persistent credit|rendezvous|moved");
}
