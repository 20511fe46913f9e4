// All-reduces by kernels/exchange.h on the CPU: of two to eight ranks, in one step or two, in
// place: exchange sums. Built by test_kernels_on_the_cpu.py; what is wrong is one line, and the
// exit code 1.
#include "kernels/persistent_folds.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

const wirespeed::cpu::Add<ws_exchange_grid> add{"ws_exchange_grid"};

constexpr u32 blocks = 2, lanes = 8, untimed = 1;
/// So that a thread has up to three packets of a message.
constexpr u32 most_packets = 3 * blocks * lanes, guard = 2;
#if defined(__SANITIZE_THREAD__)
constexpr bool watches = false;  // which is a race in itself
#else
constexpr bool watches = true;
#endif

struct Shape {
    u32 ranks, steps, slots, before;
    std::size_t count;  ///< elements of a message
    u32 samples;

    u32 operations() const { return untimed + samples; }
    /// One step: each sends all it has. Two: part r is summed by rank r and sent to all.
    std::size_t elements() const { return steps == 1 ? count : count * ranks; }
};

/// Everything that the kernels share, as seen by one rank. What a rank has, it replaces by the sum.
struct Rank {
    std::vector<u32> memory;
    std::vector<std::vector<WsPacket>> rings;  ///< written by each peer
    std::vector<u32> starts;                   ///< written by each peer
    u32 barrier[blocks] = {}, stop = 0, gathered = 0;
    std::vector<u64> stamps;
    u64 progress = 0;
    WsFold fold{};
    std::vector<WsSource> sources;
    std::vector<WsOp> ops;
    std::vector<WsStep> steps;
    std::vector<WsFoldStep> fold_steps;
    std::vector<WsPeer> peers;
    WsProgram program{};
    WsFolds folds{};
};

struct Job {
    Shape shape;
    std::vector<Rank> ranks;

    explicit Job(const Shape& wanted) : shape(wanted), ranks(wanted.ranks) {
        for (Rank& rank : ranks) {
            rank.rings.resize(shape.ranks);
            rank.starts.resize(shape.ranks);
            // Rings that other messages have been through.
            for (auto& ring : rank.rings)
                ring.assign(std::size_t{shape.slots} * most_packets, {{5, 6, 7}, shape.before});
        }
        for (u32 me = 0; me < shape.ranks; ++me) prepare(me);
    }

    u32 first(std::size_t i, u32 rank) const { return (u32)(i % 50 + rank * 7 + 1); }

    WsOp op(u32 me, u32 peer, bool sends, u32 step) {
        // In two steps: what a rank sends first is the peer's part, and then its own.
        const u32 part = shape.steps == 1 ? 0 : (step == 0) == sends ? peer : me;
        const u64 bytes = shape.count * sizeof(u32);
        WsOp op{};
        op.mine = (u64)(ranks[me].memory.data() + part * shape.count);
        op.bytes = bytes;
        op.ring = (u64)(sends ? ranks[peer].rings[me] : ranks[me].rings[peer]).data();
        op.before = shape.before;
        op.each = shape.steps;
        op.place = step + 1;
        op.packets = (u32)((bytes + WS_FOLD_PACKET - 1) / WS_FOLD_PACKET);
        return op;
    }

    void prepare(u32 me) {
        Rank& mine = ranks[me];
        mine.memory.resize(shape.elements() + guard);
        for (std::size_t i = 0; i < mine.memory.size(); ++i) mine.memory[i] = first(i, me);
        mine.stamps.resize(shape.samples + 2);
        const u32 others = shape.ranks - 1;
        for (u32 step = 0; step < shape.steps; ++step) {
            for (const bool sends : {true, false})
                for (u32 turn = 1; turn <= others; ++turn)
                    mine.ops.push_back(op(me, (me + turn) % shape.ranks, sends, step));
            mine.steps.push_back({others, others, 0, 0, 0, 0, 0, 0, 0});
            mine.fold_steps.push_back({0, step == 0, 0, 0});
        }
        const u64 own = (u64)(mine.memory.data() + (shape.steps == 1 ? 0 : me) * shape.count);
        mine.fold = {own, shape.count * sizeof(u32), 0, shape.ranks, 4, ws_sum};
        // In the order of the ranks.
        for (u32 rank = 0; rank < shape.ranks; ++rank)
            mine.sources.push_back(
                rank == me ? WsSource{own, WS_IN_MEMORY, 0}
                           : WsSource{0, others + (rank + shape.ranks - me) % shape.ranks - 1, 0});
        for (u32 turn = 1; turn <= others; ++turn) {
            const u32 peer = (me + turn) % shape.ranks;
            mine.peers.push_back({(u64)&ranks[peer].starts[me], (u64)&mine.starts[peer], 2, 0});
        }
        WsProgram& program = mine.program;
        program.steps = (u64)mine.steps.data();
        program.ops = (u64)mine.ops.data();
        program.peers = (u64)mine.peers.data();
        program.stamps = (u64)mine.stamps.data();
        program.progress = (u64)&mine.progress;
        program.stop = (u64)&mine.stop;
        program.gathered = (u64)&mine.gathered;
        program.untimed = untimed;
        program.each = program.parts = program.rest = 1;
        program.stretches = program.timed = shape.samples;
        program.step_count = shape.steps;
        program.peer_count = others;
        program.op_count = (u32)mine.ops.size();
        program.slots = shape.slots;
        program.slot_packets = most_packets;
        program.show_after = 0;
        mine.folds.steps = (u64)mine.fold_steps.data();
        mine.folds.folds = (u64)&mine.fold;
        mine.folds.sources = (u64)mine.sources.data();
        mine.folds.met = (u64)mine.barrier;
    }

    /// What is wrong while the kernels run; null: nothing.
    const char* run(unsigned seed) {
        u32 ended = 0;
        std::vector<std::jthread> threads;
        for (u32 me = 0; me < shape.ranks; ++me)
            threads.emplace_back([&, me] {
                const wirespeed::cpu::Launch launch{
                    .blocks = blocks, .lanes = lanes, .seed = seed + me};
                const WsProgram* program = &ranks[me].program;
                const WsFolds* folds = &ranks[me].folds;
                void* arguments[] = {&program, &folds};
                wirespeed::cpu::run("ws_exchange_grid", launch, arguments);
                ws_atomic_add(&ended, 1);
            });
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        const char* found = nullptr;
        while (ws_load_flag(&ended) < shape.ranks && !found) {
            for (Rank& rank : ranks)
                if (watches && is_early(rank))
                    found = "an operation ended before all of its result was there";
            if (std::chrono::steady_clock::now() > patience)
                found = "a packet is waited for that never comes";
        }
        for (Rank& rank : ranks) ws_store_flag(&rank.stop, 1);
        return found;
    }

    /// All have the same sum after one operation, and each one more multiplies it.
    u32 result(std::size_t i, u64 operations) const {
        u32 sum = 0;
        for (u32 rank = 0; rank < shape.ranks; ++rank) sum += first(i, rank);
        while (--operations) sum *= shape.ranks;
        return sum;
    }

    /// Numbers grow with every operation: none is less than it was after those that have ended.
    bool is_early(Rank& rank) const {
        const u64 stamped = std::atomic_ref(rank.progress).load();
        if (stamped == 0 || stamped == ws_have_met) return false;
        for (std::size_t i = 0; i < shape.elements(); ++i)
            if (ws_load_flag(&rank.memory[i]) < result(i, stamped)) return true;
        return false;
    }

    bool right(u32 me) const {
        for (std::size_t i = 0; i < ranks[me].memory.size(); ++i)
            if (ranks[me].memory[i] !=
                (i < shape.elements() ? result(i, shape.operations()) : first(i, me)))
                return false;
        return true;
    }
};

void sums() {
    constexpr std::size_t counts[] = {1, 2, 3, 31, 32, 95, 96};
    for (const u32 ranks : {2u, 3u, 8u})
        for (const u32 steps : {1u, 2u})
            for (unsigned seed = 1; seed <= 7; ++seed) {
                // Words wrap on the way.
                const Shape shape{ranks,
                                  steps,
                                  seed % 3 ? 2u : 8u,
                                  seed % 2 ? 40 : 0xfffffff8u,
                                  counts[seed - 1],
                                  ranks == 8 ? 6u : 12u};
                const auto job = std::make_unique<Job>(shape);
                const char* found = job->run(seed);
                for (u32 me = 0; me < ranks && !found; ++me)
                    if (!job->right(me)) found = "not the sum";
                if (!found) continue;
                std::printf("%s: %u ranks, %u steps, %zu elements, %u slots, seed %u\n", found,
                            ranks, steps, shape.count, shape.slots, seed);
                std::exit(1);
            }
}

}  // namespace

int main() {
    sums();
    std::puts("all right");
}
