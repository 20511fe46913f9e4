#include "devices/emulated/regions.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "core/error.hpp"

namespace wirespeed::emulated {
namespace {

std::mutex mutex;

std::map<std::byte*, Region>& regions() {
    static std::map<std::byte*, Region> all;
    return all;
}

struct SharedDescriptor {
    pid_t pid;
    int descriptor, owner;
    std::size_t bytes, offset;
};

void* map_twice(int descriptor, std::size_t bytes, int owner, bool from_peer, bool shareable) {
    void* device = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, descriptor, 0);
    void* view = device == MAP_FAILED
                     ? MAP_FAILED
                     : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (view == MAP_FAILED) {
        const int code = errno;
        if (device != MAP_FAILED) munmap(device, bytes);
        close(descriptor);
        throw Error("mmap", std::to_string(bytes) + " bytes", std::strerror(code));
    }
    Region region;
    region.device = static_cast<std::byte*>(device);
    region.view = static_cast<std::byte*>(view);
    region.bytes = bytes;
    region.owner = owner;
    region.descriptor = descriptor;
    region.from_peer = from_peer;
    region.shareable = shareable;
    std::lock_guard lock(mutex);
    regions()[region.device] = region;
    return device;
}

}  // namespace

void* create_region(std::size_t bytes, int owner, bool shareable) {
    bytes = std::max<std::size_t>(bytes, 1);
    const int descriptor = memfd_create("wirespeed-emulated", MFD_CLOEXEC);
    if (descriptor < 0) throw Error("memfd_create", "", std::strerror(errno));
    if (const int code = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes))) {
        close(descriptor);
        throw Error("posix_fallocate", std::to_string(bytes) + " bytes", std::strerror(code));
    }
    return map_twice(descriptor, bytes, owner, false, shareable);
}

void destroy_region(void* address) noexcept {
    std::lock_guard lock(mutex);
    auto found = regions().find(static_cast<std::byte*>(address));
    if (found == regions().end()) return;
    const Region region = found->second;
    regions().erase(found);
    munmap(region.device, region.bytes);
    munmap(region.view, region.bytes);
    close(region.descriptor);
}

bool find_region(const void* address, Region& found) {
    auto* byte = const_cast<std::byte*>(static_cast<const std::byte*>(address));
    std::lock_guard lock(mutex);
    auto after = regions().upper_bound(byte);
    if (after == regions().begin()) return false;
    const Region& region = std::prev(after)->second;
    if (byte >= region.device + region.bytes) return false;
    found = region;
    return true;
}

void* view_of(void* address) {
    Region region;
    if (!find_region(address, region)) return address;
    return region.view + (static_cast<std::byte*>(address) - region.device);
}

ShareHandle share_region(void* address) {
    Region region;
    if (!find_region(address, region) || !region.shareable)
        throw Error("only device memory of the driver's can be shared");
    SharedDescriptor shared{
        getpid(), region.descriptor, region.owner, region.bytes,
        static_cast<std::size_t>(static_cast<std::byte*>(address) - region.device)};
    ShareHandle handle;
    static_assert(sizeof shared <= sizeof handle.bytes);
    std::memcpy(handle.bytes.data(), &shared, sizeof shared);
    return handle;
}

void* open_region(const ShareHandle& handle) {
    SharedDescriptor shared;
    std::memcpy(&shared, handle.bytes.data(), sizeof shared);
    const std::string path =
        "/proc/" + std::to_string(shared.pid) + "/fd/" + std::to_string(shared.descriptor);
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) throw Error("open", path, std::strerror(errno));
    auto* base = static_cast<std::byte*>(
        map_twice(descriptor, shared.bytes, shared.owner, shared.pid != getpid(), true));
    return base + shared.offset;
}

}  // namespace wirespeed::emulated
