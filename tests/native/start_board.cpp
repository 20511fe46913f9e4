// Threads stand for ranks: start_board RANKS CASE. Built by test_small_programs.py.
#include "transports/local/start_board.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include "measure/clock.hpp"
#include "thread_control.hpp"
#include "transports/align.hpp"
#include "transports/mpi/align.hpp"
#include "transports/mpi/world.hpp"

using namespace wirespeed;

// No MPI joined these ranks.
bool mpi::is_open() { return false; }
std::unique_ptr<Action> mpi::align(Page&) { return nullptr; }

namespace {

using namespace std::chrono_literals;

void require(bool holds, const char* what) {
    if (!holds) throw Error(what);
}

void as_ranks(Room& room, const std::function<void(int rank, Control&)>& does) {
    std::vector<std::string> wrong(static_cast<std::size_t>(room.size));
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < room.size; ++rank)
        ranks.emplace_back([&, rank] {
            ThreadControl control(room, rank);
            try {
                does(rank, control);
            } catch (const std::exception& error) {
                // The others would wait for ever.
                std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
                _exit(1);
            }
        });
    for (auto& rank : ranks) rank.join();
}

/// Now one rank is late, now another, and once so much that the others lose patience.
void meet(int size, std::uint32_t first) {
    constexpr int meetings = 40, very_late = 7;
    Room room(size);
    const auto ranks = static_cast<std::size_t>(size);
    std::vector<std::vector<std::int64_t>> came(meetings, std::vector<std::int64_t>(ranks));
    std::vector<std::vector<StartTimes>> starts(meetings, std::vector<StartTimes>(ranks));
    as_ranks(room, [&](int rank, Control& control) {
        StartBoard board(control, first);
        require(board.has_all_ranks() && board.why().empty(), "no page for all ranks");
        for (int i = 0; i < meetings; ++i) {
            if (i % size == rank) std::this_thread::sleep_for(i == very_late ? 400ms : 3ms);
            const auto at = static_cast<std::size_t>(i), me = static_cast<std::size_t>(rank);
            came[at][me] = monotonic_ns();
            starts[at][me] = board.meet();
        }
    });
    for (int i = 0; i < meetings; ++i)
        for (const StartTimes& start : starts[static_cast<std::size_t>(i)]) {
            for (const std::int64_t moment : came[static_cast<std::size_t>(i)])
                require(start.agreed > moment, "agreed before the last has come");
            require(start.agreed == starts[static_cast<std::size_t>(i)][0].agreed,
                    "not the same moment on all ranks");
            require(start.left >= start.agreed, "a rank started before that moment");
        }
    require(room.barriers > 0, "the ranks never lost patience");
}

/// The last rank begins each sample 5 ms late, and the very last one 9 ms.
void notes(int size, bool agreed) {
    constexpr int samples = 21;
    constexpr std::int64_t base = 1'000'000'000, late = 5'000'000, latest = 9'000'000;
    Room room(size);
    as_ranks(room, [&](int rank, Control& control) {
        StartBoard board(control);
        const auto skew = std::make_shared<StartSkew>();
        // Of another program: it has nothing to do with these.
        board.note("before", {0, base});
        board.record(skew);
        for (int i = 0; i < samples; ++i) {
            if (agreed) board.meet();
            board.arrive();
            room.all_here.arrive_and_wait();
            const std::int64_t behind =
                rank == size - 1 ? (i == samples - 1 ? latest : late) : 1000 * rank;
            board.note("a barrier", {agreed ? base - 100'000 : 0, base + behind});
            // The others are a sample ahead of who has not noted its own yet.
            if (rank == i % size) std::this_thread::sleep_for(1ms);
        }
        board.record(nullptr);
        room.all_here.arrive_and_wait();
        board.arrive();
        require(skew->by == "a barrier", "not named");
        if (rank) return require(skew->samples() == 0, "counted twice");
        require(skew->samples() == samples, "samples were lost");
        const double added = agreed ? 100e-6 : 0;
        require(std::abs(skew->median() - 5e-3 - added) < 0.03 * 5e-3, "another median");
        require(std::abs(skew->largest() - 9e-3 - added) < 1e-9, "another largest");
    });
}

/// No file may grow: as with a full /dev/shm.
void no_memory(int size) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    Room room(size);
    as_ranks(room, [&](int, Control& control) {
        StartBoard board(control);
        require(!board.has_all_ranks(), "a page in no memory");
        require(board.why().find("/dev/shm") != std::string::npos, "not said why");
        board.record(std::make_shared<StartSkew>());
        board.note("a barrier", {0, 1});
        board.arrive();
    });
}

/// One rank after another is late, where ranks start by a barrier.
void barriers(int size) {
    constexpr int samples = 10;
    Room room(size);
    const auto ranks = static_cast<std::size_t>(size);
    std::vector<std::vector<double>> came(samples, std::vector<double>(ranks));
    std::vector<std::vector<double>> began(samples, std::vector<double>(ranks));
    as_ranks(room, [&](int rank, Control& control) {
        alignas(std::max_align_t) std::byte unused[256];
        Page page("", rank);
        Context context{control, reinterpret_cast<Device&>(unused), page, {}};
        const auto line = align(context);
        for (int i = 0; i < samples; ++i) {
            if (i % size == rank) std::this_thread::sleep_for(5ms);
            const auto at = static_cast<std::size_t>(i), me = static_cast<std::size_t>(rank);
            came[at][me] = now();
            began[at][me] = line->start_sample();
        }
    });
    for (std::size_t i = 0; i < samples; ++i)
        for (const double moment : began[i])
            for (const double other : came[i])
                require(moment >= other, "a sample began before the last rank had come");
}

cpu_set_t of(std::initializer_list<int> cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(cpu, &set);
    return set;
}

void crowds() {
    const auto none = of({});
    using Masks = std::vector<cpu_set_t>;
    require(!is_crowded(Masks{of({0}), of({1})}), "each rank has a CPU of its own");
    require(!is_crowded(Masks{of({0, 1}), of({0, 1})}), "two ranks have two CPUs");
    require(!is_crowded(Masks{none, none}), "CPUs that are not known");
    require(is_crowded(Masks{of({0, 1}), of({0, 1}), of({0, 1})}), "three ranks have two CPUs");
    require(is_crowded(Masks{of({0}), of({0}), of({0, 1, 2, 3})}), "two ranks have one CPU");
    require(is_crowded(Masks{of({0, 1}), of({1, 2}), of({0, 2}), of({0, 1})}), "four have three");
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) return 2;
    const int size = std::stoi(words[1]);
    const std::string name = words[2];
    if (name == "meet") meet(size, 0);
    // The phase's word wraps after two meetings.
    if (name == "wrap") meet(size, 0x7ffffffe);
    if (name == "notes") notes(size, false);
    if (name == "agreed notes") notes(size, true);
    if (name == "barriers") barriers(size);
    if (name == "no memory") no_memory(size);
    if (name == "crowds") crowds();
    std::puts("as it should be");
    return 0;
}
