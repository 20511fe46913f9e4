// The CPU and its memory: the plain device, and the one to read first.
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "core/error.hpp"
#include "devices/host/pages.hpp"
#include "devices/host/thread_stream.hpp"
#include "kernels/cpu.hpp"

namespace wirespeed {
namespace {

class HostDevice final : public Device {
  public:
    Identity identity() const override {
        utsname machine{};
        uname(&machine);
        Identity identity;
        identity.kind = "host";
        identity.name = machine.nodename;
        identity.id = machine.nodename;
        identity.architecture = machine.machine;
        identity.driver = machine.release;
        identity.bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
        return identity;
    }

    void* allocate(Memory kind, std::size_t bytes) override {
        if (kind != Memory::pageable)
            throw Error(
                "a machine without GPUs has pageable memory only: pinned, device and "
                "managed memory need a GPU driver");
        return host::allocate_pages(bytes);
    }
    void release(Memory, void* address) noexcept override { host::release_pages(address); }

    void copy(void* to, const void* from, std::size_t bytes) override {
        std::memcpy(to, from, bytes);
    }
    std::unique_ptr<Stream> stream() override {
        return std::make_unique<host::ThreadStream>(*this);
    }

    void launch(std::string_view kernel, unsigned, unsigned, void** arguments) override {
        cpu::run(kernel, {}, arguments);
    }

    unsigned resident_blocks() override { return 1; }

    void* register_host(void* address, std::size_t) override { return address; }
    void unregister_host(void*) noexcept override {}

    ShareHandle share(void*) override { throw Error("pageable memory cannot be shared"); }
    void* open(const ShareHandle&) override { throw Error("pageable memory cannot be shared"); }
    void close(void*) override {}
};

const AddDevices add_host{{"host", [] { return 1; }, [](int) { return HostDevice().identity(); },
                           [](int, DeviceContext context) -> std::unique_ptr<Device> {
                               refuse_current(context, "host");
                               return std::make_unique<HostDevice>();
                           }}};

}  // namespace
}  // namespace wirespeed
