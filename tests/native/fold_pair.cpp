// All-reduce of two ranks by several blocks (kernels/fold_pair.h) on the CPU: fold_pair
// sums|credit. Built by test_folds.py; what is wrong is one line, and the exit code 1.
#include "kernels/persistent_folds.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

const wirespeed::cpu::Add<ws_fold_pair_grid> add{"ws_fold_pair_grid"};

constexpr u32 blocks = 3, lanes = 16, untimed = 1, samples = 18;
constexpr u32 operations = untimed + samples, room = blocks * lanes * WS_FOLD_PACKET;
#if defined(__SANITIZE_THREAD__)
constexpr bool watches = false;  // which is a race in itself
#else
constexpr bool watches = true;
#endif

/// Everything that the two kernels share, as seen by one rank. What a rank has, it replaces by the
/// sum.
struct Rank {
    alignas(16) u8 memory[room + 16] = {};
    std::vector<WsPacket> ring;  ///< written by the peer
    u32 credit = 0;              ///< written by the peer
    u32 start = 0;               ///< written by the peer
    u32 barrier[blocks] = {}, stop = 0, gathered = 0;
    u64 stamps[samples + 2] = {}, progress = 0;
    WsFold fold{};
    WsSource sources[2] = {};
    WsOp ops[2] = {};
    WsStep step = {1, 1, 0, 0};
    WsPeer peer{};
    WsProgram program{};
    WsFolds folds{};

    u32* elements() { return (u32*)memory; }
};

struct Pair {
    u32 slots, before;
    std::size_t count;  ///< elements
    Rank ranks[2];

    Pair(u32 slots_of_a_ring, u32 messages_before, std::size_t elements)
        : slots(slots_of_a_ring), before(messages_before), count(elements) {
        for (u32 me = 0; me < 2; ++me) prepare(me);
    }

    void prepare(u32 me) {
        Rank &mine = ranks[me], &theirs = ranks[1 - me];
        const u64 bytes = count * sizeof(u32);
        const u32 packets = (u32)((bytes + WS_FOLD_PACKET - 1) / WS_FOLD_PACKET);
        // A ring that other messages have been through.
        mine.ring.resize(std::size_t{slots} * blocks * lanes);
        theirs.ring.resize(mine.ring.size());
        for (WsPacket& packet : mine.ring) ws_store_packet(&packet, {{5, 6, 7}, before});
        for (std::size_t i = 0; i < room / sizeof(u32) + 2; ++i)
            mine.elements()[i] = (u32)(i + me * 7 + 1);
        mine.credit = before;
        mine.fold = {(u64)mine.memory, bytes, 0, 2, 4, ws_sum};
        // The order is that of the ranks.
        mine.sources[me] = {(u64)mine.memory, WS_IN_MEMORY, 0};
        mine.sources[1 - me] = {0, 1, 0};
        for (u32 i = 0; i < 2; ++i) {
            WsOp& op = mine.ops[i];
            op.mine = (u64)mine.memory;
            op.bytes = bytes;
            op.ring = (u64)(i == 0 ? theirs : mine).ring.data();
            op.credit = (u64) & (i == 0 ? mine : theirs).credit;
            op.before = before;
            op.each = op.place = 1;
            op.packets = packets;
        }
        mine.peer = {(u64)&theirs.start, (u64)&mine.start, 2, 0};
        WsProgram& program = mine.program;
        program.steps = (u64)&mine.step;
        program.ops = (u64)mine.ops;
        program.peers = (u64)&mine.peer;
        program.stamps = (u64)mine.stamps;
        program.progress = (u64)&mine.progress;
        program.stop = (u64)&mine.stop;
        program.gathered = (u64)&mine.gathered;
        program.untimed = untimed;
        program.iterations_per_sample = 1;
        program.samples = samples;
        program.step_count = program.peer_count = 1;
        program.op_count = 2;
        program.slots = slots;
        program.slot_packets = blocks * lanes;
        program.show_after = 0;
        mine.folds.folds = (u64)&mine.fold;
        mine.folds.sources = (u64)mine.sources;
        mine.folds.met = (u64)mine.barrier;
    }

    /// What is wrong while the kernels run; null: nothing.
    const char* run(unsigned seed) {
        u32 ended = 0;
        std::vector<std::jthread> threads;
        for (u32 me = 0; me < 2; ++me)
            threads.emplace_back([&, me] {
                wirespeed::cpu::Launch launch;
                launch.blocks = blocks;
                launch.lanes = lanes;
                launch.seed = seed + me;
                const WsProgram* program = &ranks[me].program;
                const WsFolds* folds = &ranks[me].folds;
                void* arguments[] = {&program, &folds};
                wirespeed::cpu::run("ws_fold_pair_grid", launch, arguments);
                ws_atomic_add(&ended, 1);
            });
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        const char* found = nullptr;
        while (ws_load_flag(&ended) < 2 && !found) {
            for (u32 me = 0; me < 2; ++me)
                if (watches && is_early(me))
                    found = "an operation ended before all of its result was there";
            if (std::chrono::steady_clock::now() > patience)
                found = "a packet is waited for that never comes";
        }
        for (Rank& rank : ranks) ws_store_flag(&rank.stop, 1);
        return found;
    }

    /// Numbers grow with every operation: none is less than it was after those that have ended.
    bool is_early(u32 me) {
        const u64 stamped = std::atomic_ref(ranks[me].progress).load();
        if (stamped == 0 || stamped == ws_have_met) return false;
        for (std::size_t i = 0; i < count; ++i)
            if (ws_load_flag(ranks[me].elements() + i) < sum(i) << (untimed + stamped - 1))
                return true;
        return false;
    }

    static u32 sum(std::size_t i) { return (u32)(2 * (i + 1) + 7); }

    /// Both have the same sum after one operation, and each one more doubles it.
    bool right(u32 me) {
        for (std::size_t i = 0; i < room / sizeof(u32) + 2; ++i) {
            const u32 untouched = (u32)(i + me * 7 + 1);
            const u32 result = sum(i) << (operations - 1);
            if (ranks[me].elements()[i] != (i < count ? result : untouched)) return false;
        }
        return true;
    }
};

[[noreturn]] void wrong(const char* what, const Pair& pair, unsigned seed) {
    std::printf("%s: %zu elements, %u slots, seed %u\n", what, pair.count, pair.slots, seed);
    std::exit(1);
}

void sums() {
    constexpr std::size_t counts[] = {1, 2, 3, 33, 64, 95, 96};
    for (const u32 slots : {2u, 4u, 16u})
        for (unsigned seed = 1; seed <= 7; ++seed) {
            // Words wrap on the way.
            Pair pair(slots, seed % 2 ? 40 : 0xfffffff8u, counts[seed - 1]);
            if (const char* const found = pair.run(seed)) wrong(found, pair, seed);
            for (u32 me = 0; me < 2; ++me)
                if (!pair.right(me)) wrong("not the sum", pair, seed);
        }
}

/// The number of the message that a rank leaves in the slot of its first one, where the peer sends
/// as many as there are slots, but gives credit for no more than so many. It is told to end where
/// it would wait.
u32 last_in_first_slot(u32 credit) {
    constexpr u32 slots = 4, before = 40, packets = lanes;
    Pair pair(slots, before, packets * WS_FOLD_PACKET / sizeof(u32));
    Rank& mine = pair.ranks[0];
    mine.stop = 1;
    mine.credit = before + credit;
    mine.program.peer_count = 0;
    for (u32 number = before + 1; number <= before + slots; ++number)
        for (u32 p = 0; p < packets; ++p)
            ws_store_packet(&mine.ring[number % slots * mine.program.slot_packets + p],
                            {{number, p, 0}, number});
    wirespeed::cpu::Launch launch;
    launch.lanes = lanes;
    const WsProgram* program = &mine.program;
    const WsFolds* folds = &mine.folds;
    void* arguments[] = {&program, &folds};
    wirespeed::cpu::run("ws_fold_pair_grid", launch, arguments);
    const u32 first = (before + 1) % slots * mine.program.slot_packets;
    return ws_load_packet(&pair.ranks[1].ring[first]).flag - before;
}

/// No slot is used again before credit is given for it.
void credit() {
    for (const u32 given : {0u, 1u})
        if (const u32 number = last_in_first_slot(given); number != (given ? 5 : 1)) {
            std::printf("credit %u: message %u lies in the first slot\n", given, number);
            std::exit(1);
        }
}

}  // namespace

int main(int count, char** words) {
    const std::map<std::string, void (*)()> checks = {{"sums", sums}, {"credit", credit}};
    for (int i = 1; i < count; ++i) checks.at(words[i])();
    std::puts("all right");
}
