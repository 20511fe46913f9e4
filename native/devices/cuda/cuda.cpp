// CUDA devices, by the driver interface: no toolkit is needed, neither to build nor to run.
#include <cstdio>
#include <map>
#include <mutex>

#include "devices/cuda/cupti_copies.hpp"
#include "devices/cuda/mapped_memory.hpp"
#include "devices/gpu/vendor_driver.hpp"
#include "libraries/cuda_driver.hpp"

namespace wirespeed {
namespace {

/// The driver, opened and initialised.
const Cuda::Calls& driver() {
    static const Cuda::Calls calls(Library("cuda", {"libcuda.so.1"}));
    static const int initialised = (gpu::check<Cuda>(calls, calls.init(0), Cuda::Names::init), 1);
    (void)initialised;
    return calls;
}

class CudaDriver final : public gpu::VendorDriver<Cuda> {
  public:
    explicit CudaDriver(int index, DeviceContext context = DeviceContext::primary)
        : VendorDriver(driver(), index), adopts_(context == DeviceContext::current) {
        check(calls_.device_get(&device_, index), Names::device_get);
    }
    ~CudaDriver() override {
        for (const auto& [device, context] : contexts_) calls_.context_release(device);
    }

    void retain() override { context_ = adopts_ ? current_context() : context_of(device_); }
    void enter() override { check(calls_.context_set(context_), Names::context_set); }

    void copy(void* to, const void* from, std::size_t bytes) override {
        check_bytes(calls_.copy(to, from, bytes), Names::copy, bytes);
    }
    void copy_async(void* to, const void* from, std::size_t bytes, void* stream) override {
        check_bytes(calls_.copy_async(to, from, bytes, stream), Names::copy_async, bytes);
    }

    void copy_batch(CopyList& copies, void* stream) override {
        if (!calls_.copy_batch) throw Unavailable("the driver has no cuMemcpyBatchAsync (CUDA 13)");
        Cuda::CopyAttributes attributes;
        std::size_t from = 0;
        check(calls_.copy_batch(copies.to.data(), copies.from.data(), copies.bytes.data(),
                                copies.to.size(), &attributes, &from, 1, stream),
              Names::copy_batch, std::to_string(copies.to.size()) + " copies");
    }

    void write_value(void* stream, std::uint32_t* to, std::uint32_t value) override {
        if (!calls_.write_value)
            throw Unavailable("the driver has no cuStreamWriteValue32 (CUDA 11.7)");
        check(calls_.write_value(stream, to, value, 0), Names::write_value);
    }
    void wait_value(void* stream, std::uint32_t* from, std::uint32_t value) override {
        if (!calls_.wait_value)
            throw Unavailable("the driver has no cuStreamWaitValue32 (CUDA 11.7)");
        // Flags of 0: until the word has reached the value, as a signed difference.
        check(calls_.wait_value(stream, from, value, 0), Names::wait_value);
    }

    void* open(const gpu::VendorHandle& handle, const std::string& pci) override {
        void* base = nullptr;
        // The flag lets this device reach the other one, where the hardware can.
        check(calls_.ipc_open(&base, vendor_handle(handle), Cuda::ipc_lazy_peer_access),
              Names::ipc_open, pci);
        return base;
    }
    void reach(const std::string& pci) override {
        Cuda::Device peer = 0;
        check(calls_.device_by_pci(&peer, pci.c_str()), Names::device_by_pci, pci);
        const Cuda::Result code = calls_.enable_peer(context_of(peer), 0);
        if (code != Cuda::peer_access_already_enabled) check(code, Names::enable_peer, pci);
    }

    void watch_copies(bool on) override { cuda::watch_copies(on); }
    CopyCounts copies() override { return cuda::copies(); }

    PointerFacts facts(const void* address) override {
        PointerFacts found = VendorDriver::facts(address);
        Cuda::Context context = nullptr;
        if (!pointer_fact(context, Cuda::pointer_context, address)) return found;
        found.context = !context ? "none" : context == primary() ? "primary" : "own";
        return found;
    }

    std::unique_ptr<Allocator> allocator(std::string_view name) override {
        if (name == "vmm") return cuda::mapped_memory(calls_, device_);
        return VendorDriver::allocator(name);
    }

  private:
    /// This device's context that the calling thread has current. Throws Error where it has none.
    Cuda::Context current_context() const {
        Cuda::Context context = nullptr;
        Cuda::Device of = -1;
        check(calls_.context_current(&context), Names::context_current);
        if (context) check(calls_.context_device(&of), Names::context_device);
        if (of != device_)
            throw Error("--context own: the allocation has left no context of device " +
                        std::to_string(index_) + " current");
        return context;
    }

    /// The primary context, or null while nothing in this process keeps it.
    Cuda::Context primary() {
        if (!adopts_) return context_of(device_);
        unsigned flags = 0;
        int active = 0;
        Cuda::Context context = nullptr;
        check(calls_.primary_state(device_, &flags, &active), Names::primary_state);
        if (!active) return nullptr;
        check(calls_.context_retain(&context, device_), Names::context_retain);
        calls_.context_release(device_);
        return context;
    }

    /// A device's primary context, which exists until nobody in this process retains it.
    Cuda::Context context_of(Cuda::Device device) {
        const std::scoped_lock lock(mutex_);
        if (const auto known = contexts_.find(device); known != contexts_.end())
            return known->second;
        Cuda::Context context = nullptr;
        check(calls_.context_retain(&context, device), Names::context_retain);
        contexts_.emplace(device, context);
        return context;
    }

    /// The UUID as nvidia-smi prints it, for a whole GPU and for a MIG slice of one.
    std::string id(const Identity& so_far) const override {
        Cuda::Uuid uuid{};
        if (calls_.device_uuid_v2)
            check(calls_.device_uuid_v2(&uuid, device_), Names::device_uuid_v2);
        else if (calls_.device_uuid)
            check(calls_.device_uuid(&uuid, device_), Names::device_uuid);
        std::string text = so_far.name.find(" MIG ") == std::string::npos ? "GPU" : "MIG";
        for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
            char digits[4];
            std::snprintf(digits, sizeof digits, "%02x", uuid.bytes[i]);
            if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
            text += digits;
        }
        return text;
    }
    std::string architecture() const override {
        return "sm_" + std::to_string(attribute(Cuda::attribute_major)) +
               std::to_string(attribute(Cuda::attribute_minor));
    }
    std::string version_text(int version) const override {
        return "CUDA " + std::to_string(version / 1000) + "." +
               std::to_string(version % 1000 / 10) +
               version_in("/proc/driver/nvidia/version", ", driver ");
    }
    int attribute(int which) const {
        int value = 0;
        check(calls_.device_attribute(&value, which, device_), Names::device_attribute);
        return value;
    }

    bool adopts_;
    Cuda::Context context_ = nullptr;
    std::mutex mutex_;
    std::map<Cuda::Device, Cuda::Context> contexts_;  ///< retained: this device's and its peers'
};

const AddDevices add_cuda{{"cuda", [] { return gpu::count<Cuda>(driver()); },
                           [](int index) { return CudaDriver(index).identity(); },
                           [](int index, DeviceContext context) -> std::unique_ptr<Device> {
                               return gpu::make_device(
                                   std::make_unique<CudaDriver>(index, context));
                           }}};

}  // namespace
}  // namespace wirespeed
