#include "core/helpers.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace wirespeed {
namespace {

/// Less than this takes one thread no longer than it takes to start another.
constexpr std::size_t least_part = 4 << 20;

struct Shares {
    std::atomic<unsigned> processes = 1, most = 1;
};
Shares& shares() {
    static Shares all;
    return all;
}

/// The CPUs of the node on which the calling thread runs; nothing where the kernel does not say.
std::optional<cpu_set_t> cpus_of_node() {
    unsigned cpu = 0, node = 0;
    if (syscall(SYS_getcpu, &cpu, &node, nullptr) != 0) return {};
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (std::string span; std::getline(file, span, ',');) {
        int first = 0, last = 0;
        const int read = std::sscanf(span.c_str(), "%d-%d", &first, &last);
        for (int each = first; read >= 1 && each <= (read == 2 ? last : first); ++each)
            if (each >= 0 && each < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(each), &cpus);
    }
    if (CPU_COUNT(&cpus) == 0) return {};
    return cpus;
}

/// Lets the calling thread run on the whole node, as far as the process may; on how many CPUs it
/// may run now.
unsigned widen(const std::optional<cpu_set_t>& node) {
    // The kernel leaves out what the control group's cpuset lacks.
    if (node) sched_setaffinity(0, sizeof *node, &*node);
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) != 0) return 1;
    return static_cast<unsigned>(CPU_COUNT(&own));
}

}  // namespace

void share_node(unsigned processes, unsigned most) {
    shares().processes = processes;
    shares().most = most;
}

std::future<void> beside(std::size_t bytes, std::function<void(unsigned)> work) {
    const std::size_t parts = std::min<std::size_t>(shares().most, bytes / least_part);
    if (parts < 2) return {};
    const auto node = cpus_of_node();
    const auto found = std::make_shared<std::promise<unsigned>>();
    std::future<unsigned> threads = found->get_future();
    try {
        // Those that it starts inherit its CPUs, and the caller keeps its own.
        auto done = std::async(std::launch::async, [=, work = std::move(work)] {
            const std::size_t share = widen(node) / shares().processes;
            const auto count = static_cast<unsigned>(std::min(parts, share));
            found->set_value(count);
            if (count > 1) work(count);
        });
        if (threads.get() > 1) return done;
    } catch (const std::system_error&) {
    }
    return {};
}

void with_helpers(std::size_t bytes, const std::function<void(unsigned)>& work) {
    try {
        if (auto done = beside(bytes, work); done.valid()) return done.get();
    } catch (const std::system_error&) {
    }
    work(1);
}

void write_bytes(void* address, int value, std::size_t bytes) {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    with_helpers(bytes, [&](unsigned threads) {
        const std::size_t each = (bytes / threads + page) / page * page;
        const auto write = [&](unsigned part) {
            const std::size_t begin = std::min(bytes, part * each);
            std::memset(static_cast<std::byte*>(address) + begin, value,
                        std::min(each, bytes - begin));
        };
        std::vector<std::jthread> others;
        for (unsigned part = 1; part < threads; ++part) others.emplace_back(write, part);
        write(0);
    });
}

}  // namespace wirespeed
