#include "measure/watchdog.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "measure/clock.hpp"
#include "measure/host_pages.hpp"
#include "measure/report_line.hpp"

namespace wirespeed {
namespace {

using namespace std::chrono_literals;

constexpr auto tick = 100ms;
constexpr auto grace = 2s;
constexpr double orphaned =
    30;  // seconds: a front end that still reaches its ranks hears them out for 20, then ends them

Page* watched = nullptr;
Reports crash_reports;

void on_stack_signal(int) {
    auto& layout = watched->layout();
    layout.nframes.store(
        static_cast<std::uint32_t>(take_frames(layout.frames, PageLayout::frames_max)));
}

void say(const Page& page, const Reports& reports, const Situation& situation) {
    const auto& layout = const_cast<Page&>(page).layout();
    if (reports.descriptor >= 0) {
        const auto key = std::to_string(layout.rank) + situation.kind.front() +
                         std::to_string(static_cast<long long>(1e6 * now()));
        for (const auto& line : in_parts(as_json(layout, situation), key))
            write_out(reports.descriptor, line);
    }
    if (reports.give_up) write_out(STDERR_FILENO, as_text(layout, situation));
}

constexpr int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// sigabbrev_np() needs glibc 2.32.
const char* name_of(int number) {
    switch (number) {
        case SIGSEGV:
            return "SIGSEGV";
        case SIGBUS:
            return "SIGBUS";
        case SIGFPE:
            return "SIGFPE";
        case SIGILL:
            return "SIGILL";
        case SIGABRT:
            return "SIGABRT";
        default:
            return "a signal";
    }
}

/// What may be why: shared memory is given when it is touched, and then there must be room; UCX
/// uses an address that it did not get.
std::string without_room() {
    struct statvfs space{};
    if (statvfs("/dev/shm", &space) != 0 || space.f_frsize == 0) return {};
    const auto page = static_cast<double>(space.f_frsize);
    constexpr double mib = 1 << 20;
    const double free = page * static_cast<double>(space.f_bavail) / mib;
    const double all = page * static_cast<double>(space.f_blocks) / mib;
    constexpr double small = 64;  // a container's default
    char text[160];
    if (free >= 1) {
        std::snprintf(text, sizeof text, " (/dev/shm is small: %.2g of %.3g MiB are free)", free,
                      all);
        return all < small ? text : "";
    }
    std::snprintf(text, sizeof text,
                  " (/dev/shm is full, %.2g of %.3g MiB are free: enlarge it, or remove what dead "
                  "processes left there)",
                  free, all);
    return text;
}

/// The rank's list of what it uses, which a cleanup reads once the rank has been killed.
std::string uses_file;

/// Names of the shared memory that goes with a rank which gives up, as patterns of a shell.
std::vector<std::string> segments_of_mpi;

/// What this process maps of /dev/shm and has still a name.
std::set<std::string> mapped() {
    std::set<std::string> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        const auto at = line.find(" /dev/shm/");
        if (at != std::string::npos && line.back() != ')') found.insert(line.substr(at + 1));
    }
    return found;
}

/// Adds what this process maps, and is not in `added`, to that list: Python cannot while MPI_Init
/// runs.
void list_mapped(std::set<std::string>& added) {
    if (uses_file.empty()) return;
    for (const auto& path : mapped()) {
        if (added.count(path)) continue;
        const int file = open(uses_file.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0) return;
        write_out(file, "\n" + path);
        close(file);
        added.insert(path);
    }
}

/// No launcher of MPICH's removes them, and MPI does not come to its end.
void remove_segments() {
    for (const auto& path : mapped()) {
        const std::string name = path.substr(path.rfind('/') + 1);
        struct stat file{};
        for (const auto& pattern : segments_of_mpi)
            if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0 && lstat(path.c_str(), &file) == 0 &&
                file.st_uid == getuid())
                unlink(path.c_str());
    }
}

/// Seconds that a report of a crash may take.
constexpr unsigned last_words = 3;

void die_by(int number) {
    std::signal(number, SIG_DFL);
    std::raise(number);
}

// The process dies right after this: taking a lock or memory that the fault left broken can only
// hang it. The watchdog's thread ends that, or an alarm, where the fault was that thread's.
void on_crash(int number) {
    std::signal(SIGALRM, SIG_DFL);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
    alarm(last_words + 2);
    auto& layout = watched->layout();
    if (layout.signal.exchange(number) == 0) {
        std::uint64_t addresses[PageLayout::frames_max];
        Situation situation;
        situation.kind = "crash";
        situation.what = std::string("killed by ") + name_of(number);
        situation.what += without_room();
        situation.native = name_frames(addresses, take_frames(addresses, PageLayout::frames_max));
        const Frame frame = culprit(situation.native);
        if (!frame.library.empty())
            situation.fault = frame.function.empty() ? frame.library : frame.text();
        situation.loaded = loaded_library(frame);
        std::snprintf(layout.fault, sizeof layout.fault, "%s", situation.fault.c_str());
        say(*watched, crash_reports, situation);
        std::set<std::string> added;
        list_mapped(added);
        // Under the user's own launcher another thread of this very process writes the report down.
        if (crash_reports.give_up) std::this_thread::sleep_for(500ms);
        remove_segments();
    }
    die_by(number);
}

std::vector<std::string> last_lines(const std::string& file, std::size_t most) {
    std::vector<std::string> lines;
    std::ifstream input(file);
    for (std::string line; std::getline(input, line);) {
        if (line.empty()) continue;
        lines.push_back(line);
        if (lines.size() > most) lines.erase(lines.begin());
    }
    return lines;
}

Situation look(Page& page, pthread_t thread, const std::string& python_stack, double stuck) {
    auto& layout = page.layout();
    // A stopped rank's handler has run at the moment it went on: those frames are the ones to name.
    if (layout.nframes.load() == 0) pthread_kill(thread, stack_signal());
    for (int i = 0; i < 50 && layout.nframes.load() == 0; ++i) std::this_thread::sleep_for(10ms);
    std::this_thread::sleep_for(
        50ms);  // Python's handler comes before the native one, but flushes late
    Situation situation;
    situation.kind = "stuck";
    char what[64];
    if (stuck >= 1)
        std::snprintf(what, sizeof what, "no progress for %.0f s", stuck);
    else
        std::snprintf(what, sizeof what, "asked for its stack");
    situation.what = what;
    situation.native = name_frames(layout.frames, static_cast<int>(layout.nframes.load()));
    const Frame frame = culprit(situation.native);
    if (!frame.library.empty()) situation.fault = frame.text();
    if (!python_stack.empty()) situation.python = last_lines(python_stack, 12);
    std::string text;
    for (const auto& each : situation.native) text += each.text() + "\n";
    std::snprintf(layout.stack, sizeof layout.stack, "%s", text.c_str());
    return situation;
}

void watch(Page& page, Reports reports, std::string python_stack, pthread_t thread) {
    auto& layout = page.layout();
    const auto progress = [&] {
        return std::pair(layout.iteration.load(std::memory_order_relaxed), layout.stages.load());
    };
    auto seen = progress();
    std::set<std::string> added;
    HostPages pages(page);
    bool reported = false;
    double still = 0, last = now(), crashing = 0;
    while (true) {
        std::this_thread::sleep_for(tick);
        if (std::strncmp(layout.path, "start", sizeof layout.path) == 0) list_mapped(added);
        const double time = now();
        // A stopped process is not a stuck one: only ticks that came on time count.
        still += std::min(time - last, 0.3);
        last = time;
        if (const int number = layout.signal.load()) {
            if (crashing == 0) crashing = time;
            if (time - crashing > last_words) die_by(number);
        }
        const double limit = layout.timeout.load();
        const double waits = limit > 0 ? layout.waits.load() : 0;
        if (const auto next = progress(); next != seen) {
            seen = next;
            still = 0;
            reported = false;
        }
        // A rank that only waits is as stuck as those that it waits for, of which it may see some.
        const double quiet = waits > 0 ? pages.quiet(still, limit) : still;
        const double unseen = waits > 0 && !pages.all_seen() ? waits : 0;
        if (waits > 0 && quiet < limit) reported = false;
        const bool asked = layout.asked.exchange(0) != 0;
        const bool stuck =
            !reported && limit > 0 && quiet >= limit + (reports.give_up ? unseen : 0);
        // A rank that has lost its front end would wait for a message for ever.
        if (!reports.give_up && reported && quiet >= limit + orphaned + unseen) _exit(gave_up_code);
        if (!asked && !stuck) continue;
        reported = true;
        if (!asked) layout.nframes.store(0);
        Situation situation = look(page, thread, python_stack, still);
        situation.waits = unseen > 0;
        // It may have gone on since.
        if (!asked && progress() != seen) continue;
        say(page, reports, situation);
        if (reports.give_up && stuck) {
            std::this_thread::sleep_for(grace);
            if (progress() != seen) continue;
            // Every rank of this host has reported by now: the pages are not needed any more.
            std::error_code ignored;
            if (!python_stack.empty())
                std::filesystem::remove_all(std::filesystem::path(python_stack).parent_path(),
                                            ignored);
            remove_segments();
            _exit(gave_up_code);
        }
    }
}

}  // namespace

int stack_signal() { return SIGRTMIN + 7; }

void catch_crashes(Page& page, const Reports& reports) {
    watched = &page;
    crash_reports = reports;
    std::uint64_t warm_up[4];
    take_frames(warm_up, 4);
    static char stack[256 * 1024];
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, nullptr);
    struct sigaction action{};
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (const int number : crashes)
        if (sigaction(number, &action, nullptr))
            throw Error("sigaction", strsignal(number), std::strerror(errno));
}

void start_watchdog(Page& page, const Reports& reports, const std::string& python_stack,
                    const std::string& segments) {
    watched = &page;
    std::istringstream lines(segments);
    segments_of_mpi.clear();
    for (std::string line; std::getline(lines, line);) segments_of_mpi.push_back(line);
    if (!python_stack.empty())
        uses_file = std::filesystem::path(python_stack).replace_extension(".uses");
    struct sigaction action{};
    action.sa_handler = on_stack_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    if (sigaction(stack_signal(), &action, nullptr))
        throw Error("sigaction", "stack signal", std::strerror(errno));
    std::thread(watch, std::ref(page), reports, python_stack, pthread_self()).detach();
}

}  // namespace wirespeed
