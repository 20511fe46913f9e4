#include "measure/work.hpp"

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

Worker::Worker(Device& device, Page& page, Memory kind)
    : page_(&page), stream_(on_host(kind) ? nullptr : device.stream()),
      working_(page.name("work on the device")) {}

void Worker::start(std::span<const Work> work) {
    if (work.empty()) return;
    page_->enter(working_);
    if (stream_) return enqueue(*stream_, work);
    for (const Work& each : work) cpu::run(each.kernel, {}, pointers_of(each).data());
}

void Worker::finish() {
    if (!stream_) return;
    page_->enter(working_);
    stream_->wait();
}

}  // namespace wirespeed
