// Work of a step: kernels on this rank's own device, between what it receives and what it sends.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "kernels/cpu.hpp"

namespace wirespeed {

/// A kernel's launch. It must be right for any grid: a CPU runs it as one block of one lane.
struct Work {
    std::string kernel;
    unsigned blocks = 1, threads = 1;
    std::vector<std::uint64_t> arguments;  ///< of 8 bytes each
    cpu::KernelEntry on_cpu = nullptr;     ///< the kernel as a CPU calls it
    /// Bytes of host memory that it passes over, where several CPUs may share it; else 0.
    std::size_t shared_bytes = 0;
};

/// Throws Error for a kernel that there is not, or that takes another number of arguments.
Work make_work(const char* kernel, unsigned blocks, unsigned threads,
               std::span<const std::uint64_t> arguments);

/// Does it, and waits; the CPU does what lies in its memory.
void run(Device& device, Memory kind, const Work& work);

/// What a rank is in while it works, as its status page names it.
constexpr const char* work_call = "work on the device";

/// Does one rank's work.
class Worker {
  public:
    virtual ~Worker() = default;
    /// `beside`: when all that was started before is done, and back at once also where other CPUs
    /// do it in the host's memory.
    virtual void start(std::span<const Work> work, bool beside) = 0;
    /// Back when all that was started is done.
    virtual void finish() = 0;
};

/// By launches: kernels of device memory in a stream, of host memory at once by this CPU.
class LaunchingWorker final : public Worker {
  public:
    LaunchingWorker(Device& device, Memory kind);
    void start(std::span<const Work> work, bool beside = false) override;
    void finish() override;

  private:
    void do_here(std::span<const Work> work);
    void do_beside(std::span<const Work> work);

    Device& device_;
    std::unique_ptr<Stream> stream_;  ///< none: the CPU does it
    std::future<void> beside_;
    std::span<const Work> beside_work_;
};

/// Puts work into a stream.
void enqueue(Stream& stream, std::span<const Work> work);

}  // namespace wirespeed
