#include "devices/device.hpp"

#include "core/error.hpp"
#include "kernels/cpu.hpp"

namespace wirespeed {
namespace {

std::vector<DeviceKind>& kinds() {
    static std::vector<DeviceKind> all;
    return all;
}

constexpr unsigned payload_blocks = 528, payload_threads = 256;

}  // namespace

Memory memory_from(std::string_view word) {
    if (word == "pageable") return Memory::pageable;
    if (word == "pinned") return Memory::pinned;
    if (word == "device") return Memory::device;
    if (word == "managed") return Memory::managed;
    throw Error("memory is pageable, pinned, device or managed, not '" + std::string(word) + "'");
}

const std::vector<DeviceKind>& device_kinds() { return kinds(); }

AddDevices::AddDevices(DeviceKind kind) { kinds().push_back(std::move(kind)); }

std::unique_ptr<Graph> Stream::capture(const std::function<void()>&) {
    throw Unavailable("work of this device's streams cannot be captured");
}

void Device::fill(Memory kind, void* address, std::size_t bytes, std::uint64_t seed,
                  std::uint8_t tag) {
    if (bytes == 0) return;
    std::uint64_t count = bytes, tags = tag;
    void* arguments[] = {&address, &count, &seed, &tags};
    if (on_host(kind))
        cpu::run("ws_payload_fill", 1, arguments, cpu::same_address);
    else
        launch("ws_payload_fill", payload_blocks, payload_threads, arguments);
}

std::size_t Device::check(Memory kind, const void* address, std::size_t bytes, std::uint64_t seed,
                          std::uint8_t tag) {
    if (bytes == 0) return 0;
    std::uint64_t count = bytes, tags = tag, first = bytes;
    if (on_host(kind)) {
        void* result = &first;
        void* arguments[] = {&address, &count, &seed, &tags, &result};
        cpu::run("ws_payload_check", 1, arguments, cpu::same_address);
        return first;
    }
    Allocation found(*this, Memory::device, sizeof first);
    copy(found.address(), &first, sizeof first);
    void* result = found.address();
    void* arguments[] = {&address, &count, &seed, &tags, &result};
    launch("ws_payload_check", payload_blocks, payload_threads, arguments);
    copy(&first, found.address(), sizeof first);
    return first;
}

}  // namespace wirespeed
