// A device is where memory lives: it allocates, copies, runs kernels and shares memory with other
// processes. Host memory belongs to a device too, because pinning it is the driver's work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"

#include "devices/copy_counts.hpp"

namespace wirespeed {

/// Managed memory lies where it was used last, unless it is to keep to the host's. Coherent memory
/// is the device's: what one GPU's kernel writes there another's sees while both run.
enum class Memory { pageable, pinned, device, managed, managed_host, coherent };

/// "pageable", "pinned", "device", "managed" or "managed-host"; throws Error for any other word.
Memory memory_from(std::string_view word);

/// Whole pages of the host or of the GPU, at least 4 KiB: what lies behind them is aligned as if it
/// began. (At 4 KiB in a page of 2 MiB an H200's copy engine wrote 322 GB/s to its peer, not 394.)
std::size_t guard_bytes(Memory kind);

/// May the CPU read and write this kind of memory directly?
constexpr bool on_host(Memory kind) {
    return kind == Memory::pageable || kind == Memory::pinned || kind == Memory::managed_host;
}

/// A piece of a pool of memory, in bytes: its place, where in the content it begins, its length.
struct Piece {
    std::uint64_t at, content, bytes;
};

/// The same bytes, in pieces that are no longer than that.
std::vector<Piece> cut(std::span<const Piece> pieces, std::uint64_t longest);

struct Identity {
    std::string kind;              ///< "host", "emulated", "cuda", "hip", "openmp"
    int index = 0;                 ///< as the driver counts
    std::string name;              ///< "NVIDIA H200"
    std::string id;                ///< UUID or PCI address, the same in every process
    std::string pci;               ///< PCI address "0000:0f:00.0", empty where there is none
    std::string architecture;      ///< "sm_90", "gfx90a", "x86-64"
    std::string driver;            ///< the driver's version, as it states it
    std::uint64_t bytes = 0;       ///< memory, in bytes
    unsigned multiprocessors = 0;  ///< 0: none that anybody knows of
};

/// Lets another process open an allocation. Plain bytes, fit for an allgather.
struct ShareHandle {
    std::array<std::byte, 128> bytes{};
};

/// What the driver says of an address; empty words and no value: it does not say.
struct PointerFacts {
    std::string memory;   ///< "device", "host", "managed", "unregistered"
    std::string context;  ///< "primary", "own" (another one), "none"
    std::optional<int> device;
    std::optional<bool> ipc;   ///< can another process open it by a legacy IPC handle?
    std::optional<bool> rdma;  ///< can a network adapter reach it (GPUDirect RDMA)?
    std::string library;       ///< that handed the memory out, where it was not the driver
};

/// Hands out memory of one device, as programs get it.
class Allocator {
  public:
    virtual ~Allocator() = default;
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* address) noexcept = 0;
    /// The library that does so; empty: the driver.
    virtual std::string library() const { return {}; }
};

/// A place in a stream: reached once all work before it is done.
class Event {
  public:
    virtual ~Event() = default;
    /// Puts it at the present end of its stream; where it was before is forgotten.
    virtual void record() = 0;
    virtual bool reached() = 0;
    virtual void wait() = 0;
    /// Seconds since `earlier`, an event of the same device; both have been reached.
    virtual double seconds_since(const Event& earlier) const = 0;
    /// The smallest step that these seconds resolve.
    virtual double resolution() const = 0;
};

/// Work of a stream, kept to be done again. It is gone before its stream is.
class Graph {
  public:
    virtual ~Graph() = default;
    /// Puts all of it at the end of its stream.
    virtual void launch() = 0;
};

/// Copies that go together, in no order.
struct CopyList {
    std::vector<void*> to, from;
    std::vector<std::size_t> bytes;

    void add(void* target, const void* source, std::size_t size) {
        to.push_back(target);
        from.push_back(const_cast<void*>(source));
        bytes.push_back(size);
    }
};

/// Work in order, not waited for. Waiting for it ends all of it.
class Stream {
  public:
    virtual ~Stream() = default;
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
    /// By one call. Throws Unavailable where there is none.
    virtual void copy_batch(CopyList&) {
        throw Unavailable("this device has no call for a batch of copies");
    }
    /// The arguments, of 8 bytes each, are copied before this returns.
    virtual void launch(std::string_view kernel, unsigned blocks, unsigned threads,
                        void** arguments) = 0;
    /// The same for a step's work.
    virtual void launch_work(std::string_view kernel, unsigned blocks, unsigned threads,
                             void** arguments) {
        launch(kernel, blocks, threads, arguments);
    }
    /// The same where blocks wait for each other: all run at the same time, or it throws Error.
    virtual void launch_resident(std::string_view kernel, unsigned blocks, unsigned threads,
                                 void** arguments) {
        launch(kernel, blocks, threads, arguments);
    }
    /// Writes `value` to registered host memory once all work before it is done and visible. The
    /// address is the device's own (`Device::register_host`).
    virtual void write_value(std::uint32_t* to, std::uint32_t value) = 0;
    /// Holds back what follows until the word at `from` has reached `value` (wrapping around).
    virtual void wait_value(std::uint32_t* from, std::uint32_t value) = 0;
    /// Holds back what follows until an event of this device has been reached.
    virtual void wait_for(const Event& event) = 0;
    /// Is all work done? Throws what the work threw.
    virtual bool done() = 0;
    virtual void wait() = 0;
    /// The vendor's own stream, for libraries that enqueue work in it; null where there is none.
    virtual void* native() { return nullptr; }

    /// An event of this stream, recorded nowhere yet.
    virtual std::unique_ptr<Event> event(bool timed = true) = 0;
    /// What `work` puts into this stream is kept and not done. Throws Unavailable where there is no
    /// such thing.
    virtual std::unique_ptr<Graph> capture(const std::function<void()>& work);
};

class Device {
  public:
    virtual ~Device() = default;
    virtual Identity identity() const = 0;

    /// Makes this device current for the calling thread, where the vendor has such a notion.
    virtual void enter() {}

    virtual void* allocate(Memory kind, std::size_t bytes) = 0;
    virtual void release(Memory kind, void* address) noexcept = 0;
    /// Memory for messages, which another allocator may hand out; release() takes it back.
    virtual void* allocate_buffer(Memory kind, std::size_t bytes) { return allocate(kind, bytes); }
    /// The same with guard_bytes() before and behind, in which nothing may be written.
    std::byte* allocate_guarded(Memory kind, std::size_t bytes) {
        return static_cast<std::byte*>(allocate_buffer(kind, bytes + 2 * guard_bytes(kind))) +
               guard_bytes(kind);
    }
    void release_guarded(Memory kind, std::byte* address) noexcept {
        if (address) release(kind, address - guard_bytes(kind));
    }
    /// The driver's own other ways to allocate device memory, "pool" and "vmm". Throws Unavailable.
    virtual std::unique_ptr<Allocator> allocator(std::string_view name);
    virtual PointerFacts facts(const void*) { return {}; }

    /// Copies between any two kinds of memory; back when the last byte has arrived.
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
    virtual std::unique_ptr<Stream> stream() = 0;

    /// Runs a kernel of native/kernels and waits for it. `arguments` as cuLaunchKernel takes them.
    virtual void launch(std::string_view kernel, unsigned blocks, unsigned threads,
                        void** arguments) = 0;

    /// So many seconds after a kernel has ended the host surely knows, when it waits for that.
    virtual double look_seconds() const { return 500e-6; }

    /// Back after the time that a launch of a step's work takes beyond its kernel: none, unless an
    /// emulated device declares it.
    virtual void linger_after_work() {}

    /// Where it runs none, payload is made and checked in a copy of it on the host.
    virtual bool has_kernels() const { return true; }

    /// Makes a kernel ready, and all that are compiled with it, which may take seconds.
    virtual void load(std::string_view) {}

    /// How many blocks surely run at the same time, so that they may wait for each other.
    virtual unsigned resident_blocks() = 0;

    /// The rate in Hz of the clock that kernels on this device read; 0: the driver does not say.
    virtual double clock_rate() { return 1e9; }

    /// Pins host memory that the caller has mapped, and lets the device reach it; back comes its
    /// address as the device sees it.
    virtual void* register_host(void* address, std::size_t bytes) = 0;
    virtual void unregister_host(void* address) noexcept = 0;

    virtual ShareHandle share(void* address) = 0;
    virtual void* open(const ShareHandle& handle) = 0;
    virtual void close(void* address) = 0;

    /// Counts the process's copies from zero on, or no more; what it counts it may slow down.
    /// Throws Unavailable where nobody can.
    virtual void watch_copies(bool on);
    /// Those done since watch_copies(true).
    virtual CopyCounts copies() { return {}; }

    /// Writes the content (seed, tag) of measure/payload.hpp; by a kernel where the CPU cannot
    /// reach.
    void fill(Memory kind, void* address, std::size_t bytes, std::uint64_t seed, std::uint8_t tag);
    /// The offset of the first byte that is not of the content (seed, tag); `bytes` if all are.
    std::size_t check(Memory kind, const void* address, std::size_t bytes, std::uint64_t seed,
                      std::uint8_t tag);

    /// The same of pieces of a pool, whose content begins anywhere in (seed, tag); the place in the
    /// pool of the first byte that is another one, or `all_right`.
    void fill_pieces(Memory kind, void* pool, std::span<const Piece> pieces, std::uint64_t seed,
                     std::uint8_t tag);
    std::uint64_t check_pieces(Memory kind, const void* pool, std::span<const Piece> pieces,
                               std::uint64_t seed, std::uint8_t tag);
    static constexpr std::uint64_t all_right = ~std::uint64_t{0};

    /// Doubles: start, start + 1, ... start + 1023, start, ... (kernels/sums.h).
    void fill_sums(Memory kind, void* address, std::size_t bytes, double start);
    /// The number of the first double that is not as fill_sums would make it; bytes / 8 if all are.
    std::size_t check_sums(Memory kind, const void* address, std::size_t bytes, double start);

  private:
    using CheckLaunch = std::function<void(void*, const std::function<void(void**)>&)>;
    std::size_t first_wrong(Memory kind, const char* kernel, std::size_t bytes, std::uint64_t none,
                            const CheckLaunch& call);
    void run_or_launch(Memory kind, const char* kernel, std::size_t bytes, void** arguments);
};

/// Which context a device is used by: CUDA's primary one, or the thread's current one, which
/// is its maker's to end. Devices without contexts refuse the second (`refuse_current`).
enum class DeviceContext { primary, current };
void refuse_current(DeviceContext context, const std::string& kind);

/// A kind of device, found at run time. Each folder in native/devices adds one with `AddDevices`.
struct DeviceKind {
    std::string name;
    int (*count)();  ///< how many there are; throws Error saying why none can be used
    /// Without opening it: a process that only looks holds nothing of a GPU.
    Identity (*identity)(int index);
    std::unique_ptr<Device> (*open)(int index, DeviceContext context);
};

const std::vector<DeviceKind>& device_kinds();

struct AddDevices {
    explicit AddDevices(DeviceKind kind);
};

/// One allocation, given back at the end of its scope.
class Allocation {
  public:
    Allocation() = default;
    Allocation(Device& device, Memory kind, std::size_t bytes)
        : Allocation(device, kind, bytes, device.allocate(kind, bytes)) {}
    /// Memory for messages, with guard_bytes() around it: release_guarded() takes it back.
    static Allocation buffer(Device& device, Memory kind, std::size_t bytes) {
        Allocation found(device, kind, bytes, device.allocate_guarded(kind, bytes));
        found.before_ = guard_bytes(kind);
        return found;
    }
    ~Allocation() {
        if (address_) device_->release(kind_, address() - before_);
    }
    Allocation(Allocation&& other) noexcept { *this = std::move(other); }
    Allocation& operator=(Allocation&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(kind_, other.kind_);
        std::swap(bytes_, other.bytes_);
        std::swap(address_, other.address_);
        std::swap(before_, other.before_);
        return *this;
    }
    std::byte* address() const { return static_cast<std::byte*>(address_); }
    /// The address, which is the caller's to release from now on.
    std::byte* hand_over() { return static_cast<std::byte*>(std::exchange(address_, nullptr)); }
    std::size_t bytes() const { return bytes_; }
    Memory kind() const { return kind_; }

  private:
    Allocation(Device& device, Memory kind, std::size_t bytes, void* address)
        : device_(&device), kind_(kind), bytes_(bytes), address_(address) {}

    Device* device_ = nullptr;
    Memory kind_ = Memory::pageable;
    std::size_t bytes_ = 0;
    void* address_ = nullptr;
    std::size_t before_ = 0;  ///< bytes of the allocation that lie before the address
};

}  // namespace wirespeed
