#include "measure/page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/error.hpp"

namespace wirespeed {
namespace {

/// Ranks of one batch differ by less: in speed, and, for who has no part in it, in seconds.
constexpr double slower = 10, no_part = 300;

void put(char* to, std::size_t capacity, std::string_view text) {
    const auto length = std::min(text.size(), capacity - 1);
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
}

}  // namespace

// wirespeed/job/status_page.py unpacks the page without a header.
static_assert(offsetof(PageLayout, frames) == 192 && offsetof(PageLayout, calls) == 704 &&
              offsetof(PageLayout, stack) == 3776 && offsetof(PageLayout, signal) == 7872 &&
              offsetof(PageLayout, waits) == 8136 && sizeof(PageLayout) == 8152);

Page::Page(const std::string& path, int rank) : file_(path) {
    int descriptor = -1;
    if (!path.empty()) {
        descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (descriptor < 0) throw Error("open", path, std::strerror(errno));
        // posix_fallocate, not ftruncate: a full /dev/shm must be an error here, not a SIGBUS
        // later.
        if (const int code = posix_fallocate(descriptor, 0, sizeof(PageLayout))) {
            close(descriptor);
            throw Error("posix_fallocate", path, std::strerror(code));
        }
    }
    void* address = mmap(nullptr, sizeof(PageLayout), PROT_READ | PROT_WRITE,
                         descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, descriptor, 0);
    const int code = errno;
    if (descriptor >= 0) close(descriptor);
    if (address == MAP_FAILED) throw Error("mmap", path, std::strerror(code));
    layout_ = new (address) PageLayout{};
    layout_->pid = getpid();
    layout_->rank = rank;
    gethostname(layout_->host, sizeof layout_->host - 1);
    layout_->magic = PageLayout::magic_value;
}

Page::~Page() { munmap(layout_, sizeof(PageLayout)); }

CallId Page::name(std::string_view call) {
    auto count = layout_->ncalls.load();
    for (std::uint32_t i = 0; i < count; ++i)
        if (call == layout_->calls[i]) return {i + 1};
    if (count == PageLayout::calls_max) return {};
    put(layout_->calls[count], PageLayout::name_max, call);
    layout_->ncalls.store(count + 1);
    return {count + 1};
}

void Page::stage(std::string_view path, std::uint64_t bytes, double timeout) noexcept {
    put(layout_->path, sizeof layout_->path, path);
    layout_->bytes = bytes;
    layout_->waits.store(0);
    layout_->stages.fetch_add(1);
    layout_->timeout.store(timeout);
}

void Page::begin_part(bool has_part) noexcept { layout_->waits.store(has_part ? 0 : no_part); }

void Page::end_part(double seconds) noexcept {
    // Others that are no more than that behind are waited for anyway.
    if (slower * seconds > layout_->timeout.load()) layout_->waits.store(slower * seconds);
}

}  // namespace wirespeed
