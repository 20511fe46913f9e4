#include "transports/ccl/log.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace wirespeed::ccl {

Log& Log::open() {
    static Log log;
    return log;
}

Log::Log() {
    if (std::getenv("NCCL_DEBUG")) {
        lack_ = "NCCL_DEBUG is set";
        return;
    }
    file_ = memfd_create("nccl-log", MFD_CLOEXEC);
    if (file_ < 0) {
        lack_ = std::string("memfd_create: ") + std::strerror(errno);
        return;
    }
    // NCCL opens it by that name for itself, whenever it first has something to say.
    const std::string name = "/proc/self/fd/" + std::to_string(file_);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT,P2P,SHM,NET", 1);
    setenv("NCCL_DEBUG_FILE", name.c_str(), 1);
}

std::size_t Log::size() const {
    struct stat found{};
    return file_ >= 0 && fstat(file_, &found) == 0 ? static_cast<std::size_t>(found.st_size) : 0;
}

std::string Log::since(std::size_t begin) const {
    const std::size_t end = size();
    std::string text(end > begin ? end - begin : 0, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t got =
            pread(file_, text.data() + done, text.size() - done, static_cast<off_t>(begin + done));
        if (got <= 0) break;
        done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
}

}  // namespace wirespeed::ccl
