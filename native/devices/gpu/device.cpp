// What all GPUs have in common: the order of copies and kernels, finding kernels, sharing memory.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "core/error.hpp"
#include "devices/gpu/allocations.hpp"
#include "devices/gpu/driver.hpp"
#include "devices/gpu/shared_allocation.hpp"
#include "devices/host/pages.hpp"
#include "kernels/compile.hpp"

namespace wirespeed::gpu {
namespace {

class GpuDevice final : public Device {
  public:
    explicit GpuDevice(std::unique_ptr<Driver> driver)
        : driver_(std::move(driver)), identity_(driver_->identity()) {
        driver_->retain();
        enter();
    }

    Identity identity() const override { return identity_; }
    void enter() override { driver_->enter(); }

    void* allocate(Memory kind, std::size_t bytes) override;
    void release(Memory kind, void* address) noexcept override;
    std::unique_ptr<Allocator> allocator(std::string_view name) override {
        enter();
        return driver_->allocator(name);
    }
    PointerFacts facts(const void* address) override {
        enter();
        return driver_->facts(address);
    }

    void copy(void* to, const void* from, std::size_t bytes) override;
    std::unique_ptr<Stream> stream() override;
    void launch(std::string_view kernel, unsigned blocks, unsigned threads,
                void** arguments) override;

    void load(std::string_view kernel) override {
        enter();
        function(kernel);
    }
    /// Longer by a driver that somebody has named: a stand-in's kernels are threads of the CPU.
    double look_seconds() const override {
        const bool named =
            std::getenv("WIRESPEED_LIBRARY_CUDA") || std::getenv("WIRESPEED_LIBRARY_HIP");
        return named ? 10e-3 : Device::look_seconds();
    }
    unsigned resident_blocks() override {
        enter();
        return driver_->multiprocessors();
    }
    double clock_rate() override { return driver_->clock_rate(); }
    void* register_host(void* address, std::size_t bytes) override {
        enter();
        void* const on_device = driver_->register_host(address, bytes);
        allocations_.add(address, bytes, Memory::pinned);
        return on_device;
    }
    void unregister_host(void* address) noexcept override;

    ShareHandle share(void* address) override;
    void* open(const ShareHandle& handle) override;
    void close(void* address) override;

    void watch_copies(bool on) override {
        enter();
        driver_->watch_copies(on);
    }
    CopyCounts copies() override { return driver_->copies(); }

    Driver& driver() { return *driver_; }
    void* function(std::string_view kernel);

  private:
    bool done_on_return(void* to, const void* from) const;
    template <class Call> auto between_processes(Call call) const;

    std::unique_ptr<Driver> driver_;
    Identity identity_;
    Allocations allocations_;
    std::mutex mutex_;
    std::map<std::string, void*> modules_;  ///< by unit
    std::map<std::string, void*, std::less<>> functions_;
    std::multimap<void*, void*> opened_;  ///< address to base; no base: this process's own memory
};

class GpuEvent final : public Event {
  public:
    GpuEvent(GpuDevice& device, void* stream, bool timed)
        : device_(device), stream_(stream), event_(device.driver().create_event(timed)) {}
    ~GpuEvent() override { device_.driver().destroy_event(event_); }

    void record() override {
        device_.enter();
        device_.driver().record(event_, stream_);
    }
    bool reached() override {
        device_.enter();
        return device_.driver().reached(event_);
    }
    void wait() override {
        device_.enter();
        device_.driver().wait_event(event_);
    }
    double seconds_since(const Event& earlier) const override {
        return device_.driver().seconds_between(static_cast<const GpuEvent&>(earlier).event_,
                                                event_);
    }
    double resolution() const override { return device_.driver().event_resolution(); }
    void* handle() const { return event_; }

  private:
    GpuDevice& device_;
    void *stream_, *event_;
};

class GpuGraph final : public Graph {
  public:
    GpuGraph(GpuDevice& device, void* stream, void* graph)
        : device_(device), stream_(stream), graph_(graph) {}
    ~GpuGraph() override { device_.driver().destroy_graph(graph_); }

    void launch() override {
        device_.enter();
        device_.driver().launch_graph(graph_, stream_);
    }

  private:
    GpuDevice& device_;
    void *stream_, *graph_;
};

class GpuStream final : public Stream {
  public:
    explicit GpuStream(GpuDevice& device)
        : device_(device), stream_(device.driver().create_stream()) {}
    ~GpuStream() override { device_.driver().destroy_stream(stream_); }

    void copy(void* to, const void* from, std::size_t bytes) override {
        if (bytes == 0) return;
        device_.enter();
        device_.driver().copy_async(to, from, bytes, stream_);
    }
    void copy_batch(CopyList& copies) override {
        device_.enter();
        device_.driver().copy_batch(copies, stream_);
    }
    void launch(std::string_view kernel, unsigned blocks, unsigned threads,
                void** arguments) override {
        device_.enter();
        device_.driver().launch(device_.function(kernel), blocks, threads, arguments, stream_);
    }
    void launch_resident(std::string_view kernel, unsigned blocks, unsigned threads,
                         void** arguments) override {
        device_.enter();
        device_.driver().launch_cooperative(device_.function(kernel), blocks, threads, arguments,
                                            stream_);
    }
    void write_value(std::uint32_t* to, std::uint32_t value) override {
        device_.enter();
        device_.driver().write_value(stream_, to, value);
    }
    void wait_value(std::uint32_t* from, std::uint32_t value) override {
        device_.enter();
        device_.driver().wait_value(stream_, from, value);
    }
    void wait_for(const Event& event) override {
        device_.enter();
        device_.driver().stream_wait_event(stream_, static_cast<const GpuEvent&>(event).handle());
    }
    bool done() override {
        device_.enter();
        return device_.driver().done(stream_);
    }
    void wait() override {
        device_.enter();
        device_.driver().wait(stream_, "work in a stream");
    }
    void* native() override { return stream_; }

    std::unique_ptr<Event> event(bool timed) override {
        device_.enter();
        return std::make_unique<GpuEvent>(device_, stream_, timed);
    }
    std::unique_ptr<Graph> capture(const std::function<void()>& work) override {
        device_.enter();
        device_.driver().begin_capture(stream_);
        try {
            work();
        } catch (...) {
            device_.driver().drop_capture(stream_);
            throw;
        }
        return std::make_unique<GpuGraph>(device_, stream_, device_.driver().end_capture(stream_));
    }

  private:
    GpuDevice& device_;
    void* stream_;
};

void* GpuDevice::allocate(Memory kind, std::size_t bytes) {
    bytes = std::max<std::size_t>(bytes, 1);
    void* address = nullptr;
    if (kind == Memory::pageable) {
        address = host::allocate_pages(bytes);
    } else {
        enter();
        // More managed memory than the device has free makes drivers swap, or hang.
        const bool managed = kind == Memory::managed || kind == Memory::managed_host;
        if (managed && bytes > driver_->free_bytes())
            throw Error(std::to_string(bytes) + " bytes of managed memory are more than the " +
                        std::to_string(driver_->free_bytes()) + " free on the device");
        address = driver_->allocate(kind, bytes);
    }
    allocations_.add(address, bytes, kind);
    return address;
}

void GpuDevice::release(Memory kind, void* address) noexcept {
    if (!address) return;
    try {
        allocations_.remove(address);
        if (kind == Memory::pageable) return host::release_pages(address);
        enter();
        driver_->release(kind, address);
    } catch (...) {
        // A device that failed gives its memory back when the process ends.
    }
}

/// Vendors promise it for copies to host memory and from pinned memory; not between devices, nor
/// from pageable memory, which may still be in flight from the driver's own buffer.
bool GpuDevice::done_on_return(void* to, const void* from) const {
    const auto kind = allocations_.kind_of(to);
    if (kind == Memory::pageable || kind == Memory::pinned) return true;
    return allocations_.kind_of(from) == Memory::pinned;
}

void GpuDevice::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    enter();
    driver_->copy(to, from, bytes);
    if (!done_on_return(to, from)) driver_->wait(nullptr, "copy");
}

std::unique_ptr<Stream> GpuDevice::stream() {
    enter();
    return std::make_unique<GpuStream>(*this);
}

void GpuDevice::launch(std::string_view kernel, unsigned blocks, unsigned threads,
                       void** arguments) {
    enter();
    driver_->launch(function(kernel), blocks, threads, arguments, nullptr);
    driver_->wait(nullptr, kernel);
}

void* GpuDevice::function(std::string_view kernel) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = functions_.find(kernel); found != functions_.end()) return found->second;
    const KernelUnit& unit = unit_of(kernel);
    void*& module = modules_[unit.name];
    if (!module) {
        const KernelCode kernels = kernel_code(unit, identity_.architecture);
        // A compiler newer than the driver may make code that the driver does not know.
        module = driver_->load(kernels.code, "kernels for " + identity_.architecture + " by " +
                                                 kernels.compiler + ", under " + identity_.driver);
    }
    std::string name(kernel);
    void* const function = driver_->function(module, name);
    functions_.emplace(std::move(name), function);
    return function;
}

void GpuDevice::unregister_host(void* address) noexcept {
    try {
        allocations_.remove(address);
        enter();
        driver_->unregister_host(address);
    } catch (...) {
        // As in release().
    }
}

/// Slices of a GPU that share memory (compute instances of one GPU instance) can do it: the driver
/// is asked, and what it refuses is no fault. Source: NVIDIA, MIG User Guide, "Application
/// Considerations".
template <class Call> auto GpuDevice::between_processes(Call call) const {
    if (identity_.id.rfind("MIG-", 0) != 0) return call();
    try {
        return call();
    } catch (const Error& error) {
        throw Unavailable(std::string("MIG slices have no peer access, and no IPC beyond their GPU "
                                      "instance: ") +
                          error.what());
    }
}

ShareHandle GpuDevice::share(void* address) {
    enter();
    SharedAllocation shared;
    auto* const base = static_cast<char*>(driver_->base(address));
    shared.handle = between_processes([&] { return driver_->share(base); });
    identity_.kind.copy(shared.kind, sizeof shared.kind);
    identity_.pci.copy(shared.pci, sizeof shared.pci - 1);
    shared.offset = static_cast<std::uint64_t>(static_cast<char*>(address) - base);
    shared.address = reinterpret_cast<std::uint64_t>(address);
    shared.process = this_process();
    return pack(shared);
}

void* GpuDevice::open(const ShareHandle& handle) {
    const SharedAllocation shared = unpack(handle, identity_.kind);
    enter();
    void *address = nullptr, *base = nullptr;
    if (shared.process == this_process()) {
        // Vendors refuse to open what the same process shares: it has the address already.
        address = reinterpret_cast<void*>(shared.address);
        if (identity_.pci != shared.pci) driver_->reach(shared.pci);
    } else {
        base = between_processes([&] { return driver_->open(shared.handle, shared.pci); });
        address = static_cast<char*>(base) + shared.offset;
    }
    const std::scoped_lock lock(mutex_);
    opened_.emplace(address, base);
    return address;
}

void GpuDevice::close(void* address) {
    void* base = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = opened_.find(address);
        if (found == opened_.end()) throw Error("this address was not opened from a handle");
        base = found->second;
        opened_.erase(found);
    }
    if (!base) return;
    enter();
    driver_->close(base);
}

}  // namespace

std::unique_ptr<Device> make_device(std::unique_ptr<Driver> driver) {
    return std::make_unique<GpuDevice>(std::move(driver));
}

}  // namespace wirespeed::gpu
