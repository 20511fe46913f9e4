#include "devices/allocator/runtimes.hpp"

#include <map>
#include <vector>

#include "core/error.hpp"
#include "libraries/openacc.hpp"
#include "libraries/openmp.hpp"

namespace wirespeed {
namespace {

/// The host's blocks that belong to the device addresses handed out.
using HostBlocks = std::map<void*, std::vector<std::byte>>;

void require(bool good, const char* call, std::size_t bytes) {
    if (!good) throw Error(call, std::to_string(bytes) + " bytes", "failed");
}

class OpenMpAllocator final : public Allocator {
  public:
    OpenMpAllocator(int device, bool maps)
        : calls_(OpenMp::runtime()), device_(device), maps_(maps) {
        if (device >= calls_.devices)
            throw Unavailable(calls_.library + " has no device " + std::to_string(device) +
                              "; there are " + std::to_string(calls_.devices));
    }

    void* allocate(std::size_t bytes) override {
        void* const address = calls_.allocate(bytes, device_);
        require(address, "omp_target_alloc", bytes);
        if (!maps_) return address;
        std::vector<std::byte> block(bytes);
        const bool good = calls_.associate(block.data(), address, bytes, 0, device_) == 0 &&
                          calls_.present(block.data(), device_);
        if (!good) calls_.free(address, device_);
        require(good, "omp_target_associate_ptr", bytes);
        blocks_.emplace(address, std::move(block));
        return address;
    }
    void release(void* address) noexcept override {
        if (const auto found = blocks_.find(address); found != blocks_.end()) {
            calls_.dissociate(found->second.data(), device_);
            blocks_.erase(found);
        }
        calls_.free(address, device_);
    }
    std::string library() const override { return calls_.library; }

  private:
    const OpenMp& calls_;
    int device_;
    bool maps_;
    HostBlocks blocks_;
};

class OpenAccAllocator final : public Allocator {
  public:
    OpenAccAllocator(int device, bool maps)
        : calls_(OpenAcc::runtime()), device_(device), maps_(maps) {}

    void* allocate(std::size_t bytes) override {
        // The number belongs to the calling thread.
        calls_.set_device(device_, calls_.gpu);
        if (!maps_) {
            void* const address = calls_.allocate(bytes);
            require(address, "acc_malloc", bytes);
            return address;
        }
        std::vector<std::byte> block(bytes);
        void* const address = calls_.copy_in(block.data(), bytes);
        require(address && calls_.device_address(block.data()) == address, "acc_copyin", bytes);
        blocks_.emplace(address, std::move(block));
        return address;
    }
    void release(void* address) noexcept override {
        calls_.set_device(device_, calls_.gpu);
        const auto found = blocks_.find(address);
        if (found == blocks_.end()) return calls_.free(address);
        calls_.remove(found->second.data(), found->second.size());
        blocks_.erase(found);
    }
    std::string library() const override { return calls_.library; }

  private:
    const OpenAcc& calls_;
    int device_;
    bool maps_;
    HostBlocks blocks_;
};

}  // namespace

std::unique_ptr<Allocator> runtime_allocator(std::string_view name, int device) {
    const bool maps = name.ends_with(":map");
    const std::string_view runtime = name.substr(0, name.find(':'));
    if (runtime == "openmp") return std::make_unique<OpenMpAllocator>(device, maps);
    if (runtime == "openacc") return std::make_unique<OpenAccAllocator>(device, maps);
    return nullptr;
}

}  // namespace wirespeed
