#include "devices/allocator/decorator.hpp"

#include <mutex>
#include <set>

#include "core/error.hpp"
#include "devices/allocator/runtimes.hpp"

namespace wirespeed {
namespace {

class WithAllocator final : public Device {
  public:
    WithAllocator(std::unique_ptr<Device> device, std::unique_ptr<Allocator> allocator,
                  std::string name)
        : device_(std::move(device)), allocator_(std::move(allocator)), name_(std::move(name)) {}
    ~WithAllocator() override {
        // What frees memory needs the device's context.
        try {
            enter();
        } catch (const Error&) {
        }
        allocator_.reset();
    }

    void* allocate_buffer(Memory kind, std::size_t bytes) override {
        if (kind != Memory::device) return device_->allocate_buffer(kind, bytes);
        enter();
        void* const address = allocator_->allocate(bytes ? bytes : 1);
        try {
            require_own(address);
        } catch (...) {
            allocator_->release(address);
            throw;
        }
        const std::scoped_lock lock(mutex_);
        handed_out_.insert(address);
        return address;
    }
    void release(Memory kind, void* address) noexcept override {
        {
            const std::scoped_lock lock(mutex_);
            if (!handed_out_.erase(address)) return device_->release(kind, address);
        }
        try {
            enter();
            allocator_->release(address);
        } catch (...) {
            // A device that failed gives its memory back when the process ends.
        }
    }
    PointerFacts facts(const void* address) override {
        PointerFacts found = device_->facts(address);
        found.library = allocator_->library();
        return found;
    }
    ShareHandle share(void* address) override {
        if (device_->facts(address).ipc == false)
            throw Unavailable(
                "memory of --allocator " + name_ +
                " has no IPC handle by which another process could open it; measure 'aware', "
                "'staged' or 'nccl' with it");
        return device_->share(address);
    }

    Identity identity() const override { return device_->identity(); }
    void enter() override { device_->enter(); }
    void* allocate(Memory kind, std::size_t bytes) override {
        return device_->allocate(kind, bytes);
    }
    void copy(void* to, const void* from, std::size_t bytes) override {
        device_->copy(to, from, bytes);
    }
    std::unique_ptr<Stream> stream() override { return device_->stream(); }
    void launch(std::string_view kernel, unsigned blocks, unsigned threads,
                void** arguments) override {
        device_->launch(kernel, blocks, threads, arguments);
    }
    bool has_kernels() const override { return device_->has_kernels(); }
    void load(std::string_view kernel) override { device_->load(kernel); }
    unsigned resident_blocks() override { return device_->resident_blocks(); }
    double clock_rate() override { return device_->clock_rate(); }
    double look_seconds() const override { return device_->look_seconds(); }
    void linger_after_work() override { device_->linger_after_work(); }
    void* register_host(void* address, std::size_t bytes) override {
        return device_->register_host(address, bytes);
    }
    void unregister_host(void* address) noexcept override { device_->unregister_host(address); }
    void* open(const ShareHandle& handle) override { return device_->open(handle); }
    void close(void* address) override { device_->close(address); }
    void watch_copies(bool on) override { device_->watch_copies(on); }
    CopyCounts copies() override { return device_->copies(); }

  private:
    /// Throws Error unless the driver calls it memory of this device.
    void require_own(const void* address) {
        const PointerFacts found = facts(address);
        const std::string who =
            "--allocator " + name_ + ": " + (found.library.empty() ? "the driver" : found.library);
        if (found.memory == "host" || found.memory == "unregistered")
            throw Error(who +
                        " handed out host memory, which is no memory of a GPU: its runtime "
                        "has no device here");
        const int own = device_->identity().index;
        if (found.device && *found.device != own)
            throw Error(who + " handed out memory of device " + std::to_string(*found.device) +
                        ", not of device " + std::to_string(own));
    }

    std::unique_ptr<Device> device_;
    std::unique_ptr<Allocator> allocator_;
    std::string name_;
    std::mutex mutex_;
    std::set<void*> handed_out_;
};

}  // namespace

std::unique_ptr<Device> open_with_allocator(const DeviceKind& kind, int index,
                                            const std::string& name, bool own_context) {
    auto context = DeviceContext::primary;
    std::unique_ptr<Allocator> allocator;
    if (own_context) {
        allocator = runtime_allocator(name, index);
        if (!allocator)
            throw Error(
                "--context own: the driver allocates in a context that is there already; "
                "write --allocator openmp or openacc");
        // Kept: the runtime's context lasts as long as it likes.
        allocator->allocate(1);
        context = DeviceContext::current;
    }
    auto device = kind.open(index, context);
    if (name == "driver") return device;
    if (!allocator) allocator = runtime_allocator(name, index);
    if (!allocator) allocator = device->allocator(name);
    return std::make_unique<WithAllocator>(std::move(device), std::move(allocator), name);
}

}  // namespace wirespeed
