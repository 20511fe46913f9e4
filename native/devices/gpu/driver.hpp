// What a GPU's driver must be able to do, for one device; device.cpp makes a Device of it. Vendors
// whose drivers are alike share vendor_driver.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "devices/device.hpp"

namespace wirespeed::gpu {

/// A vendor's own handle for sharing an allocation.
using VendorHandle = std::array<char, 64>;

/// Every function throws Error with the vendor's words, except where it says noexcept. A stream of
/// null is the default stream, on which copy() and kernels run in order.
class Driver {
  public:
    virtual ~Driver() = default;

    virtual Identity identity() const = 0;
    /// Takes what all but identity() and clock_rate() need; the destructor gives it back.
    virtual void retain() {}
    virtual void enter() = 0;

    /// Every kind but pageable memory.
    virtual void* allocate(Memory kind, std::size_t bytes) = 0;
    virtual void release(Memory kind, void* address) noexcept = 0;
    virtual std::size_t free_bytes() = 0;
    /// As Device's.
    virtual std::unique_ptr<Allocator> allocator(std::string_view name) = 0;
    virtual PointerFacts facts(const void* address) = 0;

    /// Back early where the vendor says so: between devices, and from pageable memory.
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

    virtual void* create_stream() = 0;
    virtual void destroy_stream(void* stream) noexcept = 0;
    virtual void copy_async(void* to, const void* from, std::size_t bytes, void* stream) = 0;
    virtual void copy_batch(CopyList&, void*) {
        throw Unavailable("this driver has no call for a batch of copies");
    }
    virtual void write_value(void* stream, std::uint32_t* to, std::uint32_t value) = 0;
    virtual void wait_value(void* stream, std::uint32_t* from, std::uint32_t value) = 0;
    virtual bool done(void* stream) = 0;
    /// Waits for the stream; `what` is named if that fails.
    virtual void wait(void* stream, std::string_view what) = 0;

    /// `timed`: it can be asked for seconds; else it is cheaper.
    virtual void* create_event(bool timed) = 0;
    virtual void destroy_event(void* event) noexcept = 0;
    virtual void record(void* event, void* stream) = 0;
    virtual bool reached(void* event) = 0;
    virtual void wait_event(void* event) = 0;
    /// Holds back what follows in the stream.
    virtual void stream_wait_event(void* stream, void* event) = 0;
    virtual double seconds_between(void* earlier, void* later) = 0;
    virtual double event_resolution() const = 0;

    virtual void begin_capture(void* stream) = 0;
    /// The graph captured, ready to be launched.
    virtual void* end_capture(void* stream) = 0;
    virtual void drop_capture(void* stream) noexcept = 0;
    virtual void launch_graph(void* graph, void* stream) = 0;
    virtual void destroy_graph(void* graph) noexcept = 0;

    /// `what` is named if the code cannot be loaded.
    virtual void* load(const std::string& code, std::string_view what) = 0;
    virtual void* function(void* module, const std::string& kernel) = 0;
    virtual void launch(void* function, unsigned blocks, unsigned threads, void** arguments,
                        void* stream) = 0;

    /// Refuses a grid whose blocks cannot all run at the same time.
    virtual void launch_cooperative(void* function, unsigned blocks, unsigned threads,
                                    void** arguments, void* stream) = 0;

    virtual unsigned multiprocessors() const = 0;
    /// As Device's.
    virtual double clock_rate() { return 1e9; }
    /// Pins memory of the process for every context; its address on the device.
    virtual void* register_host(void* address, std::size_t bytes) = 0;
    virtual void unregister_host(void* address) noexcept = 0;

    /// The start of the allocation that `address` lies in: handles stand for whole allocations.
    virtual void* base(void* address) = 0;
    virtual VendorHandle share(void* base) = 0;
    /// Opens an allocation of another process, on the device at `pci`.
    virtual void* open(const VendorHandle& handle, const std::string& pci) = 0;
    virtual void close(void* base) = 0;
    /// Lets this device reach the memory of the device at `pci`, which this process uses too.
    virtual void reach(const std::string& pci) = 0;

    /// As Device's: by a tool of the vendor, where there is one.
    virtual void watch_copies(bool) {
        throw Unavailable("nothing here counts this driver's copies");
    }
    virtual CopyCounts copies() { return {}; }
};

/// The Device that `driver` makes.
std::unique_ptr<Device> make_device(std::unique_ptr<Driver> driver);

}  // namespace wirespeed::gpu
