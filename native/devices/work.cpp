#include "devices/work.hpp"

#include "kernels/cpu.hpp"

namespace wirespeed {
namespace {

/// As cuLaunchKernel takes them.
std::vector<void*> pointers_of(const Work& work) {
    std::vector<void*> pointers;
    for (const std::uint64_t& argument : work.arguments)
        pointers.push_back(const_cast<std::uint64_t*>(&argument));
    return pointers;
}

}  // namespace

void enqueue(Stream& stream, std::span<const Work> work) {
    for (const Work& each : work)
        stream.launch(each.kernel, each.blocks, each.threads, pointers_of(each).data());
}

Worker::Worker(Device& device, Memory kind) : stream_(on_host(kind) ? nullptr : device.stream()) {}

void Worker::start(std::span<const Work> work) {
    if (stream_) return enqueue(*stream_, work);
    for (const Work& each : work) cpu::run(each.kernel, {}, pointers_of(each).data());
}

void Worker::finish() {
    if (stream_) stream_->wait();
}

}  // namespace wirespeed
