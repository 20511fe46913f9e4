#include "devices/work.hpp"

#include <algorithm>
#include <array>
#include <system_error>

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

LaunchingWorker::LaunchingWorker(Device& device, Memory kind)
    : device_(device), stream_(on_host(kind) ? nullptr : device.stream()) {}

void LaunchingWorker::start(std::span<const Work> work, bool beside) {
    if (work.empty()) return;
    if (beside) finish();
    if (stream_)
        enqueue(*stream_, work);
    else if (beside && work.back().shared_bytes)
        do_beside(work);
    else
        do_here(work);
}

void LaunchingWorker::do_here(std::span<const Work> work) {
    for (const Work& each : work) {
        run_by_cpu(each);
        device_.linger_after_work();
    }
}

/// The last one takes long; those before it decide what it finds.
void LaunchingWorker::do_beside(std::span<const Work> work) {
    do_here(work.first(work.size() - 1));
    beside_work_ = work.last(1);
    const Work& last = work.back();
    beside_ = beside(last.shared_bytes, [&last](unsigned threads) {
        cpu::run(last.kernel, {threads}, pointers_of(last).data());
    });
    if (!beside_.valid()) do_here(beside_work_);
}

void LaunchingWorker::finish() {
    if (stream_) stream_->wait();
    if (!beside_.valid()) return;
    try {
        beside_.get();
    } catch (const std::system_error&) {
        do_here(beside_work_);
    }
}

}  // namespace wirespeed
