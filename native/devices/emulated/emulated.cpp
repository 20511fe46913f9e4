// A GPU made of host memory, so that every path and report is tested on a machine without one. It
// is never offered unless asked for by name.
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include "core/error.hpp"
#include "devices/emulated/declared.hpp"
#include "devices/emulated/regions.hpp"
#include "devices/host/pages.hpp"
#include "devices/host/thread_stream.hpp"
#include "kernels/cpu.hpp"
#include "measure/clock.hpp"

namespace wirespeed {
namespace {

using emulated::Direction;
using emulated::Region;

void sleep_until(double time) {
    timespec until;
    until.tv_sec = first_second + static_cast<time_t>(time);
    until.tv_nsec = static_cast<long>((time - std::floor(time)) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

Direction direction_of(void* to, const void* from) {
    Region target, source;
    const bool to_device = emulated::find_region(to, target);
    const bool from_device = emulated::find_region(from, source);
    if (to_device && from_device)
        return target.owner != source.owner || target.from_peer || source.from_peer
                   ? Direction::peer
                   : Direction::on_device;
    if (to_device) return Direction::host_to_device;
    return from_device ? Direction::device_to_host : Direction::host;
}

/// As of a driver that is too old for it.
class StreamWithoutValues final : public host::ThreadStream {
  public:
    using ThreadStream::ThreadStream;
    void write_value(std::uint32_t*, std::uint32_t) override { lack(); }
    void wait_value(std::uint32_t*, std::uint32_t) override { lack(); }

  private:
    [[noreturn]] static void lack() {
        throw Unavailable("the emulated driver's streams have no values (values=0)");
    }
};

/// As cuMemAllocAsync's and cuMemCreate's: a GPU's memory without a handle for other processes.
class UnsharedMemory final : public Allocator {
  public:
    explicit UnsharedMemory(int index) : index_(index) {}
    void* allocate(std::size_t bytes) override {
        return emulated::create_region(bytes, index_, false);
    }
    void release(void* address) noexcept override { emulated::destroy_region(address); }

  private:
    int index_;
};

class EmulatedDevice final : public Device {
  public:
    explicit EmulatedDevice(int index) : index_(index) {}

    Identity identity() const override {
        Identity identity;
        identity.kind = "emulated";
        identity.index = index_;
        identity.name = "emulated GPU (host memory)";
        identity.id = "EMULATED-" + std::to_string(index_);
        identity.architecture = "cpu";
        identity.multiprocessors = emulated::declared().blocks;
        return identity;
    }

    void* allocate(Memory kind, std::size_t bytes) override {
        if (in_region(kind)) return emulated::create_region(bytes, index_);
        return host::allocate_pages(bytes);
    }
    void release(Memory kind, void* address) noexcept override {
        if (in_region(kind))
            emulated::destroy_region(address);
        else
            host::release_pages(address);
    }
    std::unique_ptr<Allocator> allocator(std::string_view name) override {
        if (name != "pool" && name != "vmm") return Device::allocator(name);
        return std::make_unique<UnsharedMemory>(index_);
    }
    PointerFacts facts(const void* address) override {
        PointerFacts found;
        Region region;
        found.memory = "host";
        if (!emulated::find_region(address, region)) return found;
        found.memory = "device";
        found.device = region.owner;
        found.ipc = region.shareable;
        return found;
    }

    void copy(void* to, const void* from, std::size_t bytes) override {
        const Direction direction = direction_of(to, from);
        if (counting_ && direction != Direction::host)
            counter_.add(static_cast<CopyKind>(direction), bytes);
        const double end = reserve(direction, bytes);
        std::memcpy(emulated::view_of(to), emulated::view_of(const_cast<void*>(from)), bytes);
        if (now() < end) sleep_until(end);
    }
    std::unique_ptr<Stream> stream() override {
        if (!emulated::declared().values) return std::make_unique<StreamWithoutValues>(*this);
        return std::make_unique<host::ThreadStream>(*this);
    }

    void launch(std::string_view kernel, unsigned blocks, unsigned threads,
                void** arguments) override {
        const auto& declared = emulated::declared();
        emulated::tell_launch(kernel);
        cpu::run(kernel,
                 {std::min(blocks, declared.blocks), std::min(threads, declared.threads),
                  declared.threads, declared.seed, emulated::view_of},
                 arguments);
    }

    /// Its kernels are threads of this process, which may wait for a CPU.
    double look_seconds() const override { return 10e-3; }
    void linger_after_work() override {
        if (const double seconds = emulated::declared().work; seconds > 0)
            sleep_until(now() + seconds);
    }

    unsigned resident_blocks() override { return emulated::declared().blocks; }

    void* register_host(void* address, std::size_t) override { return address; }
    void unregister_host(void*) noexcept override {}

    void watch_copies(bool on) override {
        if (on) counter_.clear();
        counting_ = on;
    }
    CopyCounts copies() override { return counter_.counts(); }

    ShareHandle share(void* address) override { return emulated::share_region(address); }
    void* open(const ShareHandle& handle) override { return emulated::open_region(handle); }
    void close(void* address) override {
        Region region;
        if (emulated::find_region(address, region)) emulated::destroy_region(region.device);
    }

  private:
    static bool in_region(Memory kind) {
        return kind == Memory::device || kind == Memory::coherent;
    }
    /// When a copy that starts now will be done: those of one direction, in whatever streams, share
    /// one engine.
    double reserve(Direction direction, std::size_t bytes) {
        const auto& declared = emulated::declared();
        const std::scoped_lock lock(mutex_);
        double& free = engine_free_[static_cast<std::size_t>(direction)];
        const double times = declared.slow == index_ ? 2 : 1;
        free = std::max(free, now()) +
               times * (declared.seconds(direction, bytes) - declared.seconds(direction, 0));
        return free + declared.seconds(direction, 0);
    }

    int index_;
    std::mutex mutex_;
    std::array<double, 5> engine_free_{};
    std::atomic<bool> counting_ = false;
    CopyCounter counter_;
};

const AddDevices add_emulated{{"emulated", [] { return emulated::device_count(); },
                               [](int index) { return EmulatedDevice(index).identity(); },
                               [](int index, DeviceContext context) -> std::unique_ptr<Device> {
                                   refuse_current(context, "emulated");
                                   return std::make_unique<EmulatedDevice>(index);
                               }}};

}  // namespace
}  // namespace wirespeed
