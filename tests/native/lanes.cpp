// Kernels whose threads wait for each other, run on the CPU. Built by test_kernels_on_the_cpu.py:
// each word of the command line names one check; what is wrong is one line, and the exit code 1.
#include <execinfo.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "kernels/ll.h"

namespace {

using wirespeed::cpu::Launch;

/// Thread 0 says something, which the others repeat.
template <bool barrier> WS_KERNEL repeat(u64* said, u64 word) {
    WS_SHARED u64 heard;
    if (ws_lane() == 0) heard = word;
    if (barrier) ws_sync();
    said[ws_thread()] = heard;
}

/// What a thread's neighbour in its warp wrote; the last warp begins when the others are done.
WS_KERNEL neighbours(u64* said, u64* done_address) {
    WS_SHARED u64 words[512];
    auto* const done = (u32*)done_address;
    const u32 stop = 0, warp = ws_lane() / 32, last = (ws_lanes() - 1) / 32;
    if (warp == last) ws_spin(&stop, [=] { return ws_load_flag(done) == 32 * last; });
    words[ws_lane()] = 1000 + ws_lane();
    ws_sync_warp();
    const u32 next = (ws_lane() + 1) % 32 + warp * 32;
    said[ws_lane()] = next < ws_lanes() ? words[next] : 0;
    ws_atomic_add(done, 1);
}

/// Each thread spins until the one after it has come by.
WS_KERNEL backwards(u64* words) {
    const u32 stop = 0;
    auto* const own = (u32*)(words + ws_thread());
    if (ws_lane() + 1 < ws_lanes()) ws_spin(&stop, [=] { return ws_load_flag(own + 2) != 0; });
    ws_store_flag(own, 1);
}

/// Shared memory is the block's: nobody's until all blocks have written into theirs.
WS_KERNEL apart(u64* said, u64* count) {
    WS_SHARED u64 mine;
    const u32 stop = 0;
    auto* const written = (u32*)count;
    if (ws_lane() == 0) {
        mine = 77 + ws_block();
        ws_atomic_add(written, 1);
        ws_spin(&stop, [=] { return ws_load_flag(written) == ws_blocks(); });
    }
    ws_sync();
    said[ws_thread()] = mine;
}

WS_KERNEL returns_early(u64* word) {
    if (ws_lane() == *word) return;
    ws_sync();
}

WS_KERNEL two_barriers(u64* word) {
    if (ws_lane() == *word)
        ws_sync();
    else
        ws_sync();
}

WS_KERNEL warp_and_block(u64* word) {
    if (ws_lane() == *word)
        ws_sync();
    else
        ws_sync_warp();
}

/// Block 0 waits for a block that goes wrong.
WS_KERNEL one_block_fails(u64* word) {
    const u32 stop = 0;
    if (ws_block() == 0)
        ws_spin(&stop, [=] { return ws_load_flag((u32*)word) != 0; });
    else if (ws_lane() == 0)
        ws_sync();
}

/// Told to end, threads leave where they stand.
WS_KERNEL told_to_end(u64* stop) {
    if (ws_lane() % 2 == 0 && !ws_spin((u32*)stop, [] { return false; })) return;
    ws_sync();
    if (ws_lane() % 3 == 0) ws_sync();
    ws_sync();
}

std::atomic<int> frames;
void count_frames(int) {
    void* addresses[64];
    frames += backtrace(addresses, 64);
}
WS_KERNEL look_at_the_stack(u64*) {
    ws_sync();
    raise(SIGUSR1);
    ws_sync();
}

const wirespeed::cpu::Add<repeat<true>> add_repeat{"repeat"};
const wirespeed::cpu::Add<repeat<false>> add_careless{"repeat_without_barrier"};
const wirespeed::cpu::Add<neighbours> add_neighbours{"neighbours"};
const wirespeed::cpu::Add<backwards> add_backwards{"backwards"};
const wirespeed::cpu::Add<apart> add_apart{"apart"};
const wirespeed::cpu::Add<returns_early> add_early{"returns_early"};
const wirespeed::cpu::Add<two_barriers> add_two{"two_barriers"};
const wirespeed::cpu::Add<warp_and_block> add_both{"warp_and_block"};
const wirespeed::cpu::Add<one_block_fails> add_fails{"one_block_fails"};
const wirespeed::cpu::Add<told_to_end> add_end{"told_to_end"};
const wirespeed::cpu::Add<look_at_the_stack> add_stack{"look_at_the_stack"};

[[noreturn]] void wrong(const std::string& what, const Launch& launch) {
    std::printf("%s: %u blocks of %u threads, seed %u\n", what.c_str(), launch.blocks, launch.lanes,
                launch.seed);
    std::exit(1);
}

/// `words`: what the kernel's first argument points to.
void run(const char* kernel, const Launch& launch, std::vector<u64>& words, u64 second = 0) {
    u64* address = words.data();
    void* arguments[] = {&address, &second};
    wirespeed::cpu::run(kernel, launch, arguments);
}

template <class Check> void each_launch(Check check) {
    for (const unsigned blocks : {1u, 3u})
        for (const unsigned lanes : {1u, 2u, 4u, 32u, 64u})
            for (const unsigned seed : {0u, 1u, 2u, 3u}) {
                const Launch launch{.blocks = blocks, .lanes = lanes, .seed = seed};
                check(launch);
            }
}

bool all_repeat(const char* kernel, const Launch& launch, u64 word) {
    std::vector<u64> said(launch.blocks * launch.lanes);
    run(kernel, launch, said, word);
    return std::ranges::all_of(said, [=](u64 each) { return each == word; });
}

void barriers() {
    u64 word = 0;
    each_launch([&](const Launch& launch) {
        if (!all_repeat("repeat", launch, ++word)) wrong("repeat", launch);
        std::vector<u64> words(launch.blocks * launch.lanes);
        run("backwards", launch, words);
        u64 count = 0;
        run("apart", launch, words, reinterpret_cast<u64>(&count));
        for (std::size_t i = 0; i < words.size(); ++i)
            if (words[i] != 77 + i / launch.lanes) wrong("apart", launch);
        if (launch.blocks > 1) return;
        count = 0;
        run("neighbours", launch, words, reinterpret_cast<u64>(&count));
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::size_t next = (i + 1) % 32 + i / 32 * 32;
            if (words[i] != (next < words.size() ? 1000 + next : 0)) wrong("neighbours", launch);
        }
    });
}

/// The first seed with which a missing barrier is found.
void missing_barrier() {
    Launch launch{.lanes = 4};
    for (u64 word = 100; launch.seed < 100; ++launch.seed)
        if (!all_repeat("repeat_without_barrier", launch, ++word)) break;
    std::printf("seed %u\n", launch.seed);
}

/// The error that `kernel` ends with.
void refused(const char* kernel, u64 word) {
    const Launch launch{.blocks = 2, .lanes = 4};
    std::vector<u64> words{word};
    try {
        run(kernel, launch, words);
        std::puts("no error");
    } catch (const wirespeed::Error& error) {
        std::puts(error.what());
    }
    // What is left of it is in nobody's way.
    each_launch([](const Launch& each) {
        if (!all_repeat("repeat", each, 5)) wrong("repeat after an error", each);
    });
}

void end() {
    each_launch([](const Launch& launch) {
        std::vector<u64> stop{1};
        run("told_to_end", launch, stop);
    });
}

void stacks() {
    void* warm_up[4];
    backtrace(warm_up, 4);
    std::signal(SIGUSR1, count_frames);
    each_launch([](const Launch& launch) {
        frames = 0;
        std::vector<u64> none;
        run("look_at_the_stack", launch, none);
        if (frames < 3 * static_cast<int>(launch.blocks * launch.lanes)) wrong("frames", launch);
    });
}

}  // namespace

int main(int, char** words) {
    const std::map<std::string, void (*)()> checks = {
        {"barriers", barriers},
        {"missing barrier", missing_barrier},
        {"returns early", [] { refused("returns_early", 2); }},
        {"two barriers", [] { refused("two_barriers", 1); }},
        {"warp and block", [] { refused("warp_and_block", 0); }},
        {"one block fails", [] { refused("one_block_fails", 0); }},
        {"end", end},
        {"stacks", stacks},
    };
    while (*++words) checks.at (*words)();
}
