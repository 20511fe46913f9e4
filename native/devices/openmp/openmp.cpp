// A device made of OpenMP's own interface, for a GPU of any maker: memory and copies, no kernels.
// The runtime may be GCC's, LLVM's, Intel's or NVIDIA's (libraries/openmp.hpp).
#include <map>
#include <mutex>

#include "core/error.hpp"
#include "devices/host/pages.hpp"
#include "devices/host/thread_stream.hpp"
#include "devices/openmp/host_memory.hpp"
#include "libraries/openmp.hpp"

namespace wirespeed {
namespace {

/// LLVM's runtime calls the CPU four devices, and has no call that tells. Its memory does.
bool is_cpu(const OpenMp& calls, int index) {
    void* const address = calls.allocate(1, index);
    if (!address) throw Error("omp_target_alloc", "1 byte", "failed");
    const bool found = openmp::in_host_memory(address);
    calls.free(address, index);
    return found;
}

Identity identity_of(int index) {
    const OpenMp& calls = OpenMp::runtime();
    const bool gcc = calls.version.starts_with("GCC");
    const std::string by = gcc ? "libgomp of " + calls.version.substr(0, calls.version.find(','))
                               : calls.version.substr(calls.version.rfind('/') + 1);
    const char* const uid = calls.uid ? calls.uid(index) : nullptr;
    Identity identity;
    identity.kind = "openmp";
    identity.index = index;
    identity.id = uid && *uid ? uid : "OPENMP-" + std::to_string(index);
    identity.driver = calls.version;
    // GCC's counts devices of its plugins alone, and memory would cost a context.
    if (!gcc && is_cpu(calls, index)) {
        identity.name = "CPU by " + by;
        identity.architecture = "cpu";
    } else {
        identity.name = "GPU by " + by;
    }
    return identity;
}

/// A copy is done when the call is back; there is nothing to put work into.
class OpenMpStream final : public host::ThreadStream {
  public:
    explicit OpenMpStream(Device& device) : ThreadStream(device), device_(device) {}
    void copy(void* to, const void* from, std::size_t bytes) override {
        device_.copy(to, from, bytes);
    }

  private:
    Device& device_;
};

class OpenMpDevice final : public Device {
  public:
    explicit OpenMpDevice(int index)
        : calls_(OpenMp::runtime()), index_(index), identity_(identity_of(index)) {}

    Identity identity() const override { return identity_; }

    void* allocate(Memory kind, std::size_t bytes) override {
        if (kind == Memory::pageable) return host::allocate_pages(bytes);
        if (bytes == 0) bytes = 1;
        if (kind == Memory::pinned && calls_.allocate_pinned)
            return required(calls_.allocate_pinned(bytes, index_), "llvm_omp_target_alloc_host",
                            bytes);
        if (kind != Memory::device)
            throw Unavailable(kind == Memory::pinned
                                  ? calls_.library + " hands out no pinned memory; measure 'staged'"
                                  : lack("managed or coherent memory"));
        void* const address = required(calls_.allocate(bytes, index_), "omp_target_alloc", bytes);
        if (identity_.architecture != "cpu" && openmp::in_host_memory(address)) {
            calls_.free(address, index_);
            throw Error(calls_.library +
                        " handed out host memory, which is no memory of a GPU: its runtime has no "
                        "device here");
        }
        const std::scoped_lock lock(mutex_);
        allocations_[static_cast<std::byte*>(address)] = bytes;
        return address;
    }
    void release(Memory kind, void* address) noexcept override {
        if (kind == Memory::pageable) return host::release_pages(address);
        if (kind == Memory::pinned && calls_.free_pinned)
            return calls_.free_pinned(address, index_);
        {
            const std::scoped_lock lock(mutex_);
            allocations_.erase(static_cast<std::byte*>(address));
        }
        calls_.free(address, index_);
    }
    PointerFacts facts(const void* address) override {
        PointerFacts found;
        found.library = calls_.library;
        const bool own = is_own(address);
        found.memory = own && identity_.architecture != "cpu" ? "device" : "host";
        if (own) found.device = index_;
        found.ipc = false;
        return found;
    }

    void copy(void* to, const void* from, std::size_t bytes) override {
        if (bytes == 0) return;
        const int host = calls_.host_device();
        const int into = is_own(to) ? index_ : host, out_of = is_own(from) ? index_ : host;
        if (const int code = calls_.copy(to, from, bytes, 0, 0, into, out_of))
            throw Error("omp_target_memcpy",
                        std::to_string(bytes) + " bytes, to device " + std::to_string(into) +
                            ", from device " + std::to_string(out_of),
                        "returned " + std::to_string(code));
    }
    std::unique_ptr<Stream> stream() override { return std::make_unique<OpenMpStream>(*this); }

    bool has_kernels() const override { return false; }
    void launch(std::string_view kernel, unsigned, unsigned, void**) override {
        throw Unavailable(lack("kernels of ours (" + std::string(kernel) +
                               "); measure what only moves bytes, as pingpong does"));
    }
    unsigned resident_blocks() override { return 1; }

    void* register_host(void*, std::size_t) override {
        throw Unavailable(lack("registration of host memory"));
    }
    void unregister_host(void*) noexcept override {}

    ShareHandle share(void*) override { throw not_shared(); }
    void* open(const ShareHandle&) override { throw not_shared(); }
    void close(void*) override {}

  private:
    static std::string lack(const std::string& what) { return "OpenMP's interface has no " + what; }
    static Unavailable not_shared() {
        return Unavailable(
            lack("handle by which another process could open memory; measure 'staged' or 'aware'"));
    }
    static void* required(void* address, const char* call, std::size_t bytes) {
        if (!address) throw Error(call, std::to_string(bytes) + " bytes", "failed");
        return address;
    }
    /// Copies name the device of either address, which only who allocated knows.
    bool is_own(const void* address) {
        auto* const byte = static_cast<std::byte*>(const_cast<void*>(address));
        const std::scoped_lock lock(mutex_);
        const auto after = allocations_.upper_bound(byte);
        if (after == allocations_.begin()) return false;
        const auto& [begin, bytes] = *std::prev(after);
        return byte < begin + bytes;
    }

    const OpenMp& calls_;
    int index_;
    Identity identity_;
    std::mutex mutex_;
    std::map<std::byte*, std::size_t> allocations_;
};

const AddDevices add_openmp{{"openmp", [] { return OpenMp::runtime().devices; }, identity_of,
                             [](int index, DeviceContext context) -> std::unique_ptr<Device> {
                                 refuse_current(context, "openmp");
                                 return std::make_unique<OpenMpDevice>(index);
                             }}};

}  // namespace
}  // namespace wirespeed
