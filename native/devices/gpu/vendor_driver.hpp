// The calls that CUDA and HIP have in common but for their names. `Api` (libraries/cuda_driver.hpp,
// libraries/hip.hpp) is the vendor's table of functions with its types and constants.
#pragma once

#include <cctype>
#include <cstring>
#include <fstream>

#include "core/error.hpp"
#include "devices/gpu/driver.hpp"

namespace wirespeed::gpu {

/// Throws Error with the vendor's words unless `code` says success.
template <class Api>
void check(const typename Api::Calls& calls, int code, const char* call,
           std::string_view arguments = {}) {
    if (code != Api::success) [[unlikely]]
        throw Error(call, arguments, Api::text(calls, code));
}

/// The same for calls that are timed: the text is made only when it is needed.
template <class Api>
void check_bytes(const typename Api::Calls& calls, int code, const char* call, std::size_t bytes) {
    if (code != Api::success) [[unlikely]]
        throw Error(call, std::to_string(bytes) + " bytes", Api::text(calls, code));
}

/// How many devices there are; throws Error when there is none.
template <class Api> int count(const typename Api::Calls& calls) {
    int count = 0;
    check<Api>(calls, calls.device_count(&count), Api::Names::device_count);
    if (count == 0) throw Error(Api::Names::device_count, "", "the driver has no device");
    return count;
}

/// Memory of the device's default pool. Nothing is in flight when a call returns.
template <class Api> class PoolAllocator final : public Allocator {
  public:
    explicit PoolAllocator(const typename Api::Calls& calls) : calls_(calls) {
        if (!calls.pool_allocate || !calls.pool_free)
            throw Unavailable(std::string("the driver has no ") + Api::Names::pool_allocate);
    }
    void* allocate(std::size_t bytes) override {
        void* address = nullptr;
        check_bytes<Api>(calls_, calls_.pool_allocate(&address, bytes, nullptr),
                         Api::Names::pool_allocate, bytes);
        check<Api>(calls_, calls_.stream_wait(nullptr), Api::Names::stream_wait);
        return address;
    }
    void release(void* address) noexcept override {
        calls_.pool_free(address, nullptr);
        calls_.stream_wait(nullptr);
    }

  private:
    const typename Api::Calls& calls_;
};

template <class Api> class VendorDriver : public Driver {
  public:
    using Calls = typename Api::Calls;
    using Names = typename Api::Names;

    VendorDriver(const Calls& calls, int index) : calls_(calls), index_(index) {}

    Identity identity() const override {
        char name[256] = {}, pci[32] = {};
        std::size_t bytes = 0;
        check(calls_.device_name(name, sizeof name, device_), Names::device_name);
        check(calls_.device_pci(pci, sizeof pci, device_), Names::device_pci);
        check(calls_.device_memory(&bytes, device_), Names::device_memory);
        Identity identity;
        identity.kind = Api::name;
        identity.index = index_;
        identity.name = name;
        for (const char* at = pci; *at; ++at)
            identity.pci += static_cast<char>(std::tolower(static_cast<unsigned char>(*at)));
        identity.id = id(identity);
        identity.architecture = architecture();
        int version = 0;
        check(calls_.driver_version(&version), Names::driver_version);
        identity.driver = version_text(version);
        identity.bytes = bytes;
        identity.multiprocessors = multiprocessors();
        return identity;
    }

    void* allocate(Memory kind, std::size_t bytes) override {
        void* address = nullptr;
        if (kind == Memory::pinned)
            check_bytes(calls_.allocate_host(&address, bytes, Api::host_portable),
                        Names::allocate_host, bytes);
        else if (kind == Memory::managed)
            check_bytes(calls_.allocate_managed(&address, bytes, Api::attach_global),
                        Names::allocate_managed, bytes);
        else if (kind == Memory::managed_host)
            address = allocate_at_home(bytes);
        else if (kind == Memory::coherent)
            address = allocate_coherent(bytes);
        else
            check_bytes(calls_.allocate_device(&address, bytes), Names::allocate_device, bytes);
        return address;
    }
    void release(Memory kind, void* address) noexcept override {
        if (kind == Memory::pinned)
            calls_.free_host(address);
        else
            calls_.free_device(address);
    }
    std::size_t free_bytes() override {
        std::size_t free = 0, total = 0;
        check(calls_.memory_info(&free, &total), Names::memory_info);
        return free;
    }

    std::unique_ptr<Allocator> allocator(std::string_view name) override {
        if (name == "pool") return std::make_unique<PoolAllocator<Api>>(calls_);
        throw Unavailable("--allocator " + std::string(name) + ": there is none for " +
                          std::string(Api::name) + " devices");
    }
    PointerFacts facts(const void* address) override {
        PointerFacts found;
        unsigned memory = 0, managed = 0;
        if (!calls_.pointer_attribute) return found;
        if (!pointer_fact(memory, Api::pointer_memory, address))
            found.memory = "unregistered";
        else if (pointer_fact(managed, Api::pointer_managed, address) && managed)
            found.memory = "managed";
        else
            found.memory =
                static_cast<int>(memory) == Api::memory_on_device(calls_) ? "device" : "host";
        int device = -1, yes = 0;
        if (pointer_fact(device, Api::pointer_device, address)) found.device = device;
        if (pointer_fact(yes, Api::pointer_ipc, address)) found.ipc = yes != 0;
        if constexpr (requires { Api::pointer_rdma; })
            if (pointer_fact(yes, Api::pointer_rdma, address)) found.rdma = yes != 0;
        return found;
    }

    void* create_stream() override {
        void* stream = nullptr;
        check(calls_.stream_create(&stream, Api::stream_non_blocking), Names::stream_create);
        return stream;
    }
    void destroy_stream(void* stream) noexcept override { calls_.stream_destroy(stream); }
    void wait(void* stream, std::string_view what) override {
        check(calls_.stream_wait(stream), Names::stream_wait, what);
    }
    bool done(void* stream) override {
        const int code = calls_.stream_query(stream);
        if (code != Api::not_ready) check(code, Names::stream_query, "work in a stream");
        return code == Api::success;
    }

    void* create_event(bool timed) override {
        void* event = nullptr;
        check(calls_.event_create(&event, timed ? Api::event_default : Api::event_untimed),
              Names::event_create);
        return event;
    }
    void destroy_event(void* event) noexcept override { calls_.event_destroy(event); }
    void record(void* event, void* stream) override {
        check(calls_.event_record(event, stream), Names::event_record);
    }
    bool reached(void* event) override {
        const int code = calls_.event_query(event);
        if (code != Api::not_ready) check(code, Names::event_query, "work in a stream");
        return code == Api::success;
    }
    void wait_event(void* event) override {
        check(calls_.event_wait(event), Names::event_wait, "work in a stream");
    }
    void stream_wait_event(void* stream, void* event) override {
        check(calls_.stream_wait_event(stream, event, 0), Names::stream_wait_event);
    }
    double seconds_between(void* earlier, void* later) override {
        float milliseconds = 0;
        check(calls_.event_elapsed(&milliseconds, earlier, later), Names::event_elapsed);
        return 1e-3 * static_cast<double>(milliseconds);
    }
    double event_resolution() const override { return Api::event_resolution; }

    void begin_capture(void* stream) override {
        if (!calls_.capture_begin || !calls_.capture_end || !calls_.graph_instantiate)
            throw Unavailable(std::string("the driver has no ") + Names::graph_instantiate);
        // Relaxed: what libraries do besides (allocate, connect) is none of the capture's business.
        check(calls_.capture_begin(stream, Api::capture_relaxed), Names::capture_begin);
    }
    void* end_capture(void* stream) override {
        void *graph = nullptr, *ready = nullptr;
        check(calls_.capture_end(stream, &graph), Names::capture_end);
        const int code = calls_.graph_instantiate(&ready, graph, 0);
        calls_.graph_destroy(graph);
        check(code, Names::graph_instantiate);
        // Else the first launch does it, perhaps while a kernel waits for what is launched.
        if constexpr (requires { calls_.graph_upload; })
            if (calls_.graph_upload) check(calls_.graph_upload(ready, stream), Names::graph_upload);
        return ready;
    }
    void drop_capture(void* stream) noexcept override {
        void* graph = nullptr;
        if (calls_.capture_end(stream, &graph) == Api::success && graph)
            calls_.graph_destroy(graph);
    }
    void launch_graph(void* graph, void* stream) override {
        check(calls_.graph_launch(graph, stream), Names::graph_launch);
    }
    void destroy_graph(void* graph) noexcept override { calls_.graph_ready_destroy(graph); }

    unsigned multiprocessors() const override {
        int count = 0;
        check(calls_.device_attribute(&count, Api::attribute_multiprocessors, device_),
              Names::device_attribute);
        return static_cast<unsigned>(count);
    }
    void* register_host(void* address, std::size_t bytes) override {
        check_bytes(calls_.host_register(address, bytes, Api::register_portable_mapped),
                    Names::host_register, bytes);
        void* on_device = nullptr;
        const int code = calls_.host_device_address(&on_device, address, 0);
        if (code != Api::success) calls_.host_unregister(address);
        check(code, Names::host_device_address);
        return on_device;
    }
    void unregister_host(void* address) noexcept override { calls_.host_unregister(address); }

    void* load(const std::string& code, std::string_view what) override {
        void* module = nullptr;
        check(calls_.module_load(&module, code.c_str()), Names::module_load, what);
        return module;
    }
    void* function(void* module, const std::string& kernel) override {
        void* function = nullptr;
        check(calls_.module_function(&function, module, kernel.c_str()), Names::module_function,
              kernel);
        return function;
    }
    void launch(void* function, unsigned blocks, unsigned threads, void** arguments,
                void* stream) override {
        const int code =
            calls_.launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
        check_launch(code, Names::launch, blocks, threads);
    }
    /// By a driver too old for such launches as any other kernel: one block a multiprocessor fits.
    void launch_cooperative(void* function, unsigned blocks, unsigned threads, void** arguments,
                            void* stream) override {
        if (!calls_.launch_cooperative) return launch(function, blocks, threads, arguments, stream);
        const int code =
            calls_.launch_cooperative(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments);
        check_launch(code, Names::launch_cooperative, blocks, threads);
    }

    void* base(void* address) override {
        void* base = nullptr;
        std::size_t bytes = 0;
        check(calls_.address_range(&base, &bytes, address), Names::address_range);
        return base;
    }
    VendorHandle share(void* base) override {
        typename Api::IpcHandle handle{};
        check(calls_.ipc_get(&handle, base), Names::ipc_get);
        return std::to_array(handle.bytes);
    }
    void close(void* base) override { check(calls_.ipc_close(base), Names::ipc_close); }

  protected:
    /// Whether the driver knows this attribute of the address; then `value` has it.
    template <class Value> bool pointer_fact(Value& value, int which, const void* address) const {
        return calls_.pointer_attribute &&
               calls_.pointer_attribute(&value, which, address) == Api::success;
    }

    virtual std::string id(const Identity& so_far) const = 0;
    virtual std::string architecture() const = 0;
    virtual std::string version_text(int version) const = 0;

    void check(int code, const char* call, std::string_view arguments = {}) const {
        gpu::check<Api>(calls_, code, call, arguments);
    }
    void check_launch(int code, const char* call, unsigned blocks, unsigned threads) const {
        if (code != Api::success)
            check(code, call,
                  std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads");
    }
    void check_bytes(int code, const char* call, std::size_t bytes) const {
        gpu::check_bytes<Api>(calls_, code, call, bytes);
    }
    /// Managed memory that keeps to the host's: a device reads and writes it from afar.
    void* allocate_at_home(std::size_t bytes) {
        if (!calls_.advise) throw Unavailable(std::string("the driver has no ") + Names::advise);
        void* const address = allocate(Memory::managed, bytes);
        try {
            check_bytes(calls_.advise(address, bytes, Api::advise_home, Api::the_cpu),
                        Names::advise, bytes);
        } catch (...) {
            calls_.free_device(address);
            throw;
        }
        return address;
    }

    /// Memory as other GPUs' running kernels see it: any, unless the vendor says otherwise.
    virtual void* allocate_coherent(std::size_t bytes) { return allocate(Memory::device, bytes); }

    static typename Api::IpcHandle vendor_handle(const VendorHandle& handle) {
        typename Api::IpcHandle copy{};
        static_assert(sizeof copy == sizeof handle);
        std::memcpy(&copy, handle.data(), sizeof copy);
        return copy;
    }
    /// The first word of a file under /proc or /sys that looks like a version, after `label`.
    static std::string version_in(const char* path, const char* label) {
        std::ifstream file(path);
        for (std::string word; file >> word;)
            if (std::isdigit(static_cast<unsigned char>(word[0])) &&
                word.find('.') != std::string::npos)
                return label + word;
        return {};
    }

    const Calls& calls_;
    int index_;
    typename Api::Device device_ = index_;
};

}  // namespace wirespeed::gpu
