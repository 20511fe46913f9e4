#include "transports/local/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

using Name = std::array<char, 48>;

/// What two processes must have in common to see each other's shared memory.
std::array<char, 128> place() {
    std::array<char, 128> text{};
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    utsname host{};
    uname(&host);
    struct stat folder{};
    stat("/dev/shm", &folder);
    const std::string all = boot + " " + std::to_string(folder.st_dev) + " " +
                            std::to_string(folder.st_ino) + " " + host.nodename;
    all.copy(text.data(), text.size() - 1);
    return text;
}

/// What two processes must have in common to read the same monotonic clock, besides.
std::array<char, 80> clock_offsets() {
    std::array<char, 80> text{};
    std::ifstream("/proc/self/timens_offsets").read(text.data(), text.size() - 1);
    return text;
}

std::byte* map(int file, std::size_t bytes, const std::string& what) {
    void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int code = errno;
    close(file);
    if (address == MAP_FAILED) throw Error("mmap", what, std::strerror(code));
    return static_cast<std::byte*>(address);
}

Name random_name() {
    std::random_device random;
    const std::string text = "/wirespeed-" + std::to_string(getpid()) + "-" +
                             std::to_string(random()) + std::to_string(random());
    Name name{};
    text.copy(name.data(), name.size() - 1);
    return name;
}

}  // namespace

Segment::~Segment() {
    if (!address_) return;
    if (pinned_) pinned_->unregister_host(address_);
    munmap(address_, bytes_);
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(pinned_, other.pinned_);
    std::swap(on_device_, other.on_device_);
    return *this;
}

std::byte* Segment::pin(Device& device) {
    if (!pinned_) {
        on_device_ = static_cast<std::byte*>(device.register_host(address_, bytes_));
        pinned_ = &device;
    }
    return on_device_;
}

/// Makes and opens segments; it alone may fill in a Segment.
class HostSegments {
  public:
    static Segment create(const Name& name, std::size_t bytes) {
        const int file = shm_open(name.data(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (file < 0) throw Error("shm_open", name.data(), std::strerror(errno));
        // Pages are taken now: with a full /dev/shm, touching a missing page kills the process.
        if (const int code = posix_fallocate(file, 0, static_cast<off_t>(bytes))) {
            close(file);
            shm_unlink(name.data());
            throw Error("posix_fallocate", std::to_string(bytes) + " bytes in /dev/shm",
                        std::strerror(code));
        }
        return made(file, name, bytes);
    }
    static Segment open(const Name& name, std::size_t bytes) {
        const int file = shm_open(name.data(), O_RDWR | O_CLOEXEC, 0);
        if (file < 0) throw Error("shm_open", name.data(), std::strerror(errno));
        return made(file, name, bytes);
    }

  private:
    static Segment made(int file, const Name& name, std::size_t bytes) {
        Segment segment;
        segment.address_ = map(file, bytes, name.data());
        segment.bytes_ = bytes;
        return segment;
    }
};

std::vector<bool> same_host(Control& control) {
    const auto places = exchange(control, place);
    const auto& mine = places[static_cast<std::size_t>(control.rank())];
    std::vector<bool> same;
    for (const auto& each : places) same.push_back(each == mine);
    return same;
}

std::vector<Segment> share_segments(Control& control, std::size_t bytes_each) {
    const std::vector<bool> here = same_host(control);
    const auto me = static_cast<std::size_t>(control.rank());
    const Name mine = random_name();
    Segment own;
    std::vector<Segment> segments;
    try {
        const auto names = exchange(control, [&] {
            own = HostSegments::create(mine, bytes_each);
            return mine;
        });
        exchange(control, [&] {
            for (std::size_t rank = 0; rank < names.size(); ++rank)
                segments.push_back(rank != me && here[rank]
                                       ? HostSegments::open(names[rank], bytes_each)
                                       : Segment());
            return true;
        });
    } catch (...) {
        shm_unlink(mine.data());
        throw;
    }
    shm_unlink(mine.data());
    segments[me] = std::move(own);
    return segments;
}

HostRanks ranks_of_host(Control& control) {
    struct HostIdentity {
        std::array<char, 128> place;
        std::array<char, 80> clock;
        bool operator==(const HostIdentity&) const = default;
    };
    const auto names = exchange(control, [] { return HostIdentity{place(), clock_offsets()}; });
    const auto me = static_cast<std::size_t>(control.rank());
    const auto before = names.begin() + control.rank();
    return {static_cast<int>(std::count(names.begin(), names.end(), names[me])),
            static_cast<int>(std::count(names.begin(), before, names[me])),
            static_cast<int>(std::find(names.begin(), names.end(), names[me]) - names.begin())};
}

Segment share_segment(Control& control, const HostRanks& here, std::size_t bytes,
                      const std::function<void(Segment&)>& prepare) {
    const bool makes = here.first == control.rank();
    const Name mine = random_name();
    Segment segment;
    try {
        const auto names = exchange(control, [&] {
            if (makes) {
                segment = HostSegments::create(mine, bytes);
                prepare(segment);
            }
            return mine;
        });
        exchange(control, [&] {
            if (!makes)
                segment = HostSegments::open(names[static_cast<std::size_t>(here.first)], bytes);
            return true;
        });
    } catch (...) {
        if (makes) shm_unlink(mine.data());
        throw;
    }
    if (makes) shm_unlink(mine.data());
    return segment;
}

}  // namespace wirespeed
