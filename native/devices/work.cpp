#include "devices/work.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/helpers.hpp"
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

/// A few nanoseconds after the message has come: small messages would feel more.
void run_by_cpu(const Work& work) {
    constexpr std::size_t most = 32;
    if (work.arguments.size() > most || !work.on_cpu)
        return cpu::run(work.kernel, {}, pointers_of(work).data());
    std::array<void*, most> pointers;
    std::transform(
        work.arguments.begin(), work.arguments.end(), pointers.begin(),
        [](const std::uint64_t& argument) { return const_cast<std::uint64_t*>(&argument); });
    if (!work.shared_bytes) return cpu::run_alone(work.on_cpu, pointers.data());
    with_helpers(work.shared_bytes, [&](unsigned threads) {
        if (threads > 1) return cpu::run(work.kernel, {threads}, pointers.data());
        cpu::run_alone(work.on_cpu, pointers.data());
    });
}

}  // namespace

Work make_work(const char* kernel, unsigned blocks, unsigned threads,
               std::span<const std::uint64_t> arguments) {
    if (const std::size_t takes = cpu::argument_count(kernel); takes != arguments.size())
        throw Error(std::string("kernel ") + kernel + " takes " + std::to_string(takes) +
                    " arguments, not " + std::to_string(arguments.size()));
    return {kernel,
            std::max(blocks, 1u),
            std::max(threads, 1u),
            {arguments.begin(), arguments.end()},
            cpu::entry(kernel)};
}

void run(Device& device, Memory kind, const Work& work) {
    if (on_host(kind)) return cpu::run(work.kernel, {}, pointers_of(work).data());
    device.launch(work.kernel, work.blocks, work.threads, pointers_of(work).data());
}

void enqueue(Stream& stream, std::span<const Work> work) {
    for (const Work& each : work)
        stream.launch_work(each.kernel, each.blocks, each.threads, pointers_of(each).data());
}

Worker::Worker(Device& device, Memory kind)
    : device_(device), stream_(on_host(kind) ? nullptr : device.stream()) {}

void Worker::start(std::span<const Work> work) {
    if (stream_) return enqueue(*stream_, work);
    for (const Work& each : work) {
        run_by_cpu(each);
        device_.linger_after_work();
    }
}

void Worker::finish() {
    if (stream_) stream_->wait();
}

}  // namespace wirespeed
