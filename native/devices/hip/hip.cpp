// AMD GPUs, by the HIP runtime.
#include <algorithm>

#include "devices/gpu/vendor_driver.hpp"
#include "libraries/hip.hpp"

namespace wirespeed {
namespace {

const Hip::Calls& runtime() {
    static const Hip::Calls calls(
        Library("hip", {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                        "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"}));
    return calls;
}

class HipDriver final : public gpu::VendorDriver<Hip> {
  public:
    explicit HipDriver(int index) : VendorDriver(runtime(), index) {}

    void enter() override { check(calls_.device_set(device_), Names::device_set); }

    void copy(void* to, const void* from, std::size_t bytes) override {
        check_bytes(calls_.copy(to, from, bytes, Hip::copy_any), Names::copy, bytes);
    }
    void copy_async(void* to, const void* from, std::size_t bytes, void* stream) override {
        check_bytes(calls_.copy_async(to, from, bytes, Hip::copy_any, stream), Names::copy_async,
                    bytes);
    }

    /// Without attributes, which ROCm 7.1 and 7.2 refuse.
    void copy_batch(CopyList& copies, void* stream) override {
        if (!calls_.copy_batch)
            throw Unavailable(std::string("the runtime has no ") + Names::copy_batch +
                              " (ROCm 7.1)");
        // A longer batch is a memory access fault in builds of ROCm 7.15.
        constexpr std::size_t most = 8192;
        for (std::size_t at = 0; at < copies.to.size(); at += most) {
            const std::size_t count = std::min(most, copies.to.size() - at);
            check(calls_.copy_batch(copies.to.data() + at, copies.from.data() + at,
                                    copies.bytes.data() + at, count, nullptr, nullptr, 0, nullptr,
                                    stream),
                  Names::copy_batch, std::to_string(count) + " copies");
        }
    }

    void write_value(void* stream, std::uint32_t* to, std::uint32_t value) override {
        if (!calls_.write_value) throw Unavailable("the driver has no hipStreamWriteValue32");
        check_value(calls_.write_value(stream, to, value, 0), Names::write_value);
    }
    void wait_value(void* stream, std::uint32_t* from, std::uint32_t value) override {
        if (!calls_.wait_value) throw Unavailable("the driver has no hipStreamWaitValue32");
        // Flags of 0: until the word, as an unsigned number, is the value or more.
        check_value(calls_.wait_value(stream, from, value, 0, ~0u), Names::wait_value);
    }

    void* open(const gpu::VendorHandle& handle, const std::string& pci) override {
        void* base = nullptr;
        auto code = calls_.ipc_open(&base, vendor_handle(handle), Hip::ipc_lazy_peer_access);
        if (code == Hip::invalid_value)
            code = calls_.ipc_open(&base, vendor_handle(handle), Hip::ipc_lazy_peer_access_rocm5);
        check(code, Names::ipc_open, pci);
        // Before ROCm 7.1 opening a handle does not let this device reach the other one. Where a
        // launcher shows each rank only its own device, there is none to ask for.
        Hip::Device peer = 0;
        if (calls_.device_by_pci(&peer, pci.c_str()) != Hip::success) return base;
        try {
            enable(peer, pci);
        } catch (const Error&) {
            calls_.ipc_close(base);
            throw;
        }
        return base;
    }
    void reach(const std::string& pci) override {
        Hip::Device peer = 0;
        check(calls_.device_by_pci(&peer, pci.c_str()), Names::device_by_pci, pci);
        enable(peer, pci);
    }

    double clock_rate() override {
        int kilohertz = 0;
        const Hip::Result code =
            calls_.device_attribute(&kilohertz, Hip::attribute_wall_clock, device_);
        // Some devices know no rate, and answer 0.
        return code == Hip::success && kilohertz > 0 ? 1e3 * kilohertz : 0;
    }

  protected:
    /// Coarse-grained memory, which is hipMalloc's, is coherent between kernels only.
    void* allocate_coherent(std::size_t bytes) override {
        if (!calls_.allocate_fine_grained)
            throw Unavailable(std::string("the runtime has no ") + Names::allocate_fine_grained);
        void* address = nullptr;
        check_bytes(calls_.allocate_fine_grained(&address, bytes, Hip::fine_grained),
                    Names::allocate_fine_grained, bytes);
        return address;
    }

  private:
    /// Documented for memory of hipExtMallocWithFlags(hipMallocSignalMemory) alone, which no other
    /// process can see; whether a version takes shared host memory as well is tried.
    /// docs/devices.md
    void check_value(Hip::Result code, const char* call) const {
        if (code == Hip::invalid_value || code == Hip::not_supported)
            throw Unavailable(std::string(call) +
                              " does not take host memory here: " + Hip::text(calls_, code));
        check(code, call);
    }
    void enable(Hip::Device peer, const std::string& pci) {
        if (peer == device_) return;
        const Hip::Result code = calls_.enable_peer(peer, 0);
        if (code != Hip::peer_access_already_enabled) check(code, Names::enable_peer, pci);
    }

    /// The identifier is text: rocminfo prints it after "GPU-".
    std::string id(const Identity& so_far) const override {
        Hip::Uuid uuid{};
        if (!calls_.device_uuid || calls_.device_uuid(&uuid, device_) != Hip::success ||
            !std::isxdigit(static_cast<unsigned char>(uuid.bytes[0])))
            return so_far.pci;
        return "GPU-" + std::string(uuid.bytes, strnlen(uuid.bytes, sizeof uuid.bytes));
    }
    /// "gfx90a". Where it stands in the properties depends on the version; that it is text does
    /// not.
    std::string architecture() const override {
        constexpr std::size_t after_name = 256;
        Hip::Properties properties{};
        check(calls_.device_properties(&properties, device_), Names::device_properties);
        const std::string_view all(properties.bytes, sizeof properties.bytes);
        const auto start = all.find("gfx", after_name);
        if (start == std::string_view::npos)
            throw Error(Names::device_properties, "device " + std::to_string(index_),
                        "names no gfx architecture");
        auto end = start;
        while (std::isalnum(static_cast<unsigned char>(all[end]))) ++end;
        return std::string(all.substr(start, end - start));
    }
    std::string version_text(int version) const override {
        return "HIP " + std::to_string(version / 10000000) + "." +
               std::to_string(version / 100000 % 100) + "." + std::to_string(version % 100000) +
               version_in("/sys/module/amdgpu/version", ", amdgpu ");
    }
};

const AddDevices add_hip{{"hip", [] { return gpu::count<Hip>(runtime()); },
                          [](int index) { return HipDriver(index).identity(); },
                          [](int index, DeviceContext context) -> std::unique_ptr<Device> {
                              refuse_current(context, "hip");
                              return gpu::make_device(std::make_unique<HipDriver>(index));
                          }}};

}  // namespace
}  // namespace wirespeed
