// What the C interface does not show of GPU devices: stream work|clock KIND DRIVER KERNELS [NVRTC].
// Built by test_streams.py with the core's own sources; KERNELS is a file with the kernels' text.
//   work   what streams do, on every device
//   clock  prints the rate of each device's clock
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "devices/device.hpp"
#include "kernels/source.hpp"
#include "libraries/library.hpp"

using namespace wirespeed;

namespace {

std::string kernels_file;
bool faked = false;

void require(bool holds, const char* what) {
    if (!holds) throw Error(std::string("not so: ") + what);
}

/// Host to device, a kernel, device to device, and back: in order without a wait between them.
void in_order(Device& device, std::size_t bytes) {
    Allocation host(device, Memory::pinned, bytes), back(device, Memory::pinned, bytes);
    Allocation first(device, Memory::device, bytes), second(device, Memory::device, bytes);
    std::memset(host.address(), 1, bytes);
    std::memset(back.address(), 2, bytes);
    const auto stream = device.stream();
    for (std::uint64_t tag = 0; tag < 20; ++tag) {
        void* to = first.address();
        std::uint64_t count = bytes / 2, seed = 99;
        void* arguments[] = {&to, &count, &seed, &tag};
        stream->copy(first.address(), host.address(), bytes);
        stream->launch("ws_payload_fill", 64, 128, arguments);
        stream->copy(second.address(), first.address(), bytes);
        stream->copy(back.address(), second.address(), bytes);
        stream->copy(nullptr, nullptr, 0);
        stream->wait();
        require(device.check(Memory::pinned, back.address(), bytes / 2, seed,
                             static_cast<std::uint8_t>(tag)) == bytes / 2,
                "the kernel's half");
        for (std::size_t i = bytes / 2; i < bytes; ++i)
            require(back.address()[i] == std::byte{1}, "the copied half");
    }
}

/// A batch of copies, longer than any vendor takes by one call, in order with what surrounds it.
void batched(Device& device) {
    constexpr std::size_t count = 20000, size = 3;
    Allocation host(device, Memory::pinned, count * size),
        back(device, Memory::pinned, count * size);
    Allocation there(device, Memory::device, count * size);
    for (std::size_t i = 0; i < count * size; ++i) host.address()[i] = std::byte(i * 7 % 251);
    CopyList copies;
    for (std::size_t i = 0; i < count; ++i)
        copies.add(back.address() + (count - 1 - i) * size, there.address() + i * size, size);
    const auto stream = device.stream();
    stream->copy(there.address(), host.address(), count * size);
    try {
        stream->copy_batch(copies);
    } catch (const Unavailable&) {
        require(!faked, "a driver of today takes batches");
        stream->wait();
        return;
    }
    stream->wait();
    for (std::size_t i = 0; i < count; ++i)
        require(
            !std::memcmp(back.address() + (count - 1 - i) * size, host.address() + i * size, size),
            "every copy of the batch");
}

void two_at_once(Device& device, std::size_t bytes) {
    Allocation host(device, Memory::pinned, bytes), memory(device, Memory::device, bytes);
    const auto one = device.stream(), other = device.stream();
    one->copy(memory.address(), host.address(), bytes / 2);
    other->copy(memory.address() + bytes / 2, host.address() + bytes / 2, bytes - bytes / 2);
    other->wait();
    one->wait();
}

/// Events are reached in order, by what lies before them, and tell the time between.
void events(Device& device) {
    Allocation host(device, Memory::pinned, 64), memory(device, Memory::device, 64);
    const auto stream = device.stream();
    const auto first = stream->event(), second = stream->event();
    for (int iteration = 0; iteration < 3; ++iteration) {
        first->record();
        stream->copy(memory.address(), host.address(), 64);
        second->record();
        while (!second->reached()) {
        }
        require(first->reached(), "the first is reached before the second");
        first->wait();
        require(second->seconds_since(*first) >= 0, "time goes on");
        require(second->seconds_since(*first) < 60, "seconds, not milliseconds");
    }
    require(first->resolution() > 0 && first->resolution() < 1e-4, "a resolution in seconds");
}

/// A graph does its work when it is launched, each time, and not when it is captured.
void captured(Device& device) {
    constexpr std::size_t bytes = 4096;
    Allocation host(device, Memory::pinned, bytes), back(device, Memory::pinned, bytes);
    Allocation memory(device, Memory::device, bytes);
    const auto stream = device.stream();
    std::memset(back.address(), 9, bytes);
    const auto graph = stream->capture([&] {
        stream->copy(memory.address(), host.address(), bytes);
        stream->copy(back.address(), memory.address(), bytes);
    });
    stream->wait();
    require(back.address()[5] == std::byte{9}, "capturing does nothing");
    for (int value = 1; value < 4; ++value) {
        std::memset(host.address(), value, bytes);
        graph->launch();
        stream->wait();
        require(back.address()[bytes - 1] == static_cast<std::byte>(value), "each launch does it");
    }
    try {
        stream->capture([]() { throw Error("inside a capture"); });
        require(false, "what the work throws comes out");
    } catch (const Error& error) {
        require(std::string(error.what()) == "inside a capture", "and is what it was");
    }
    stream->copy(back.address(), memory.address(), bytes);
    stream->wait();
}

/// Blocks that wait for each other all run at once; where they cannot, the launch is refused.
void resident(Device& device) {
    Allocation memory(device, Memory::coherent, 4096);
    void* to = memory.address();
    std::uint64_t bytes = 4096, seed = 5, tag = 1;
    void* arguments[] = {&to, &bytes, &seed, &tag};
    const auto stream = device.stream();
    stream->launch_resident("ws_payload_fill", 2, 128, arguments);
    stream->wait();
    require(device.check(Memory::device, to, bytes, seed, 1) == bytes, "a small grid runs");
    try {
        stream->launch_resident("ws_payload_fill", 1 << 20, 128, arguments);
    } catch (const Error& error) {
        const std::string text = error.what();
        require(text.find("Cooperative") != std::string::npos, "the call is named");
        require(text.find("1048576 blocks of 128 threads") != std::string::npos, "and the grid");
        return;
    }
    require(false, "too large a grid is refused");
}

void work(Device& device) {
    for (const std::size_t bytes : {std::size_t{2}, std::size_t{4098}, std::size_t{8} << 20})
        in_order(device, bytes);
    batched(device);
    two_at_once(device, 1 << 20);
    events(device);
    captured(device);
    resident(device);
}

void run(const std::string& what, const std::string& name) {
    for (const auto& kind : device_kinds()) {
        if (kind.name != name) continue;
        const int devices = kind.count();
        for (int index = devices - 1; index >= 0; --index) {
            const auto device = kind.open(index, DeviceContext::primary);
            if (what == "clock")
                std::printf("%.0f\n", device->clock_rate());
            else
                work(*device);
        }
        return;
    }
    throw Error("no kind " + name);
}

}  // namespace

const std::vector<KernelUnit>& wirespeed::kernel_units() {
    static const std::vector<KernelUnit> units = [] {
        std::ifstream file(kernels_file);
        return std::vector<KernelUnit>{
            {"transports", std::string(std::istreambuf_iterator<char>(file), {})}};
    }();
    return units;
}

int main(int count, char** words) {
    try {
        kernels_file = words[4];
        faked = *words[3];
        if (faked) Library::set_path(words[2], words[3]);
        if (count > 5) Library::set_path("nvrtc", words[5]);
        run(words[1], words[2]);
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 3;
    }
}
