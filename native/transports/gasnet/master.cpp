// GASNet's udp conduit has a master process, which usually starts the ranks. These ranks run
// already: its command for starting them only prints theirs, whose argument is the master's
// address.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "core/error.hpp"
#include "transports/gasnet/session.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed::gasnet {
namespace {

constexpr const char* variable = "AMUDP_WORKER_ARGS";

/// Python opens the library: a forked rank would keep its pipes and sockets open. The process ends
/// with the ranks, or soon after the one that started it, whose end of a pipe closes then.
constexpr const char* program = R"(
import ctypes, os, sys, threading, time
os.closerange(3, 4096)
def end_with_rank():
    sys.stdin.read()
    time.sleep(1)
    os._exit(1)
threading.Thread(target=end_with_rank, daemon=True).start()
ctypes.CDLL(sys.argv[1]).wirespeed_gasnet_master(sys.argv[2].encode())
)";

struct Pipe {
    Pipe() {
        if (pipe2(ends, O_CLOEXEC)) throw Error("pipe2", "GASNet's master process", "failed");
    }
    int ends[2];
};

/// The line that the new process prints.
std::string first_line_of_master(const std::string& library, int ranks) {
    setenv("GASNET_SPAWNFN", "C", 1);
    setenv("GASNET_CSPAWN_CMD", "echo %C", 1);
    const Pipe alive, output;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, alive.ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
    // Python finds its own modules by the name that it was started by.
    std::string words[] = {std::filesystem::read_symlink("/proc/self/exe").string(),
                           "-I",
                           "-S",
                           "-c",
                           program,
                           library,
                           std::to_string(ranks)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t process = 0;
    const int failed =
        posix_spawn(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(alive.ends[0]);
    close(output.ends[1]);
    const std::unique_ptr<FILE, int (*)(FILE*)> lines(fdopen(output.ends[0], "r"), fclose);
    char line[512] = {};
    if (failed || !fgets(line, sizeof line, lines.get()))
        throw Error("GASNet's master process did not start (" + library + ")");
    return line;
}

}  // namespace

void start_master(Control& control, const std::string& library) {
    struct Address {
        char text[128] = {};
    };
    const auto told = exchange(control, [&] {
        Address address;
        if (control.rank()) return address;
        const std::string line = first_line_of_master(library, control.size());
        const auto at = line.find(std::string(variable) + "=");
        if (at == std::string::npos)
            throw Unavailable(
                "this release of GASNet starts its ranks in a way that wirespeed does "
                "not know: " +
                line.substr(0, line.find('\n')));
        const auto begin = at + std::string(variable).size() + 1;
        line.copy(address.text,
                  std::min(line.find_first_of("' \n", begin) - begin, sizeof address.text - 1),
                  begin);
        return address;
    });
    setenv(variable, told[0].text, 1);
    setenv("GASNET_WORKER_RANK", std::to_string(control.rank()).c_str(), 1);
}

}  // namespace wirespeed::gasnet
