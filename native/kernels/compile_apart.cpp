#include "kernels/compile_apart.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

extern char** environ;

namespace wirespeed {
namespace {

constexpr int refused = 3;  ///< exit code: what was written is the error

/// Starts the words with standard output into `output`; what it complains of besides is dropped,
/// because a compiler that ends its process prints pages.
pid_t start(std::vector<std::string> words, int output) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    const int code = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw Error("posix_spawn", words[0], std::strerror(code));
    return child;
}

std::string read_all(int file) {
    std::string all;
    char part[1 << 16];
    for (;;) {
        const ssize_t got = read(file, part, sizeof part);
        if (got > 0)
            all.append(part, static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            return all;
    }
}

int status_of(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace

std::vector<std::string>& compiler_command() {
    static std::vector<std::string> command;
    return command;
}

std::string compile_apart(const std::string& unit, const std::string& architecture,
                          const std::string& compiler) {
    std::vector<std::string> words = compiler_command();
    words.insert(words.end(), {unit, architecture});
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw Error("pipe2", "", std::strerror(errno));
    pid_t child = -1;
    try {
        child = start(std::move(words), pipe_ends[1]);
    } catch (...) {
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        throw;
    }
    close(pipe_ends[1]);
    std::string said = read_all(pipe_ends[0]);
    close(pipe_ends[0]);
    const int status = status_of(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !said.empty()) return said;
    if (WIFEXITED(status) && WEXITSTATUS(status) == refused && !said.empty())
        throw Unavailable(said);
    const std::string how = WIFSIGNALED(status)
                                ? strsignal(WTERMSIG(status))
                                : "exit code " + std::to_string(WEXITSTATUS(status));
    throw Unavailable(compiler + " ended its process when it compiled for " + architecture + " (" +
                      how + "): a newer ROCm has one that knows this GPU");
}

}  // namespace wirespeed
