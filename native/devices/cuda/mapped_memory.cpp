#include "devices/cuda/mapped_memory.hpp"

#include <map>

#include "devices/gpu/vendor_driver.hpp"

namespace wirespeed::cuda {
namespace {

class MappedMemory final : public Allocator {
  public:
    MappedMemory(const Cuda::Calls& calls, Cuda::Device device) : calls_(calls) {
        properties_.location.device = device;
        check(calls_.map_granularity(&granularity_, &properties_, 0), Names::map_granularity,
              granularity_);
    }

    void* allocate(std::size_t bytes) override {
        bytes = (bytes + granularity_ - 1) / granularity_ * granularity_;
        Mapping made{bytes, 0};
        void* address = nullptr;
        check(calls_.map_create(&made.handle, bytes, &properties_, 0), Names::map_create, bytes);
        const MapAccess access{properties_.location};
        int code = calls_.map_reserve(&address, bytes, 0, nullptr, 0);
        const char* call = Names::map_reserve;
        if (code == Cuda::success) {
            code = calls_.map(address, bytes, 0, made.handle, 0);
            call = Names::map;
            if (code == Cuda::success) {
                code = calls_.map_access(address, bytes, &access, 1);
                call = Names::map_access;
                if (code != Cuda::success) calls_.unmap(address, bytes);
            }
            if (code != Cuda::success) calls_.map_unreserve(address, bytes);
        }
        if (code != Cuda::success) calls_.map_destroy(made.handle);
        check(code, call, bytes);
        mappings_[address] = made;
        return address;
    }

    void release(void* address) noexcept override {
        const auto found = mappings_.find(address);
        if (found == mappings_.end()) return;
        calls_.unmap(address, found->second.bytes);
        calls_.map_unreserve(address, found->second.bytes);
        calls_.map_destroy(found->second.handle);
        mappings_.erase(found);
    }

  private:
    using Names = Cuda::Names;
    using MapAccess = Cuda::MapAccess;
    struct Mapping {
        std::size_t bytes;
        Cuda::MapHandle handle;
    };
    void check(int code, const char* call, std::size_t bytes) const {
        gpu::check_bytes<Cuda>(calls_, code, call, bytes);
    }

    const Cuda::Calls& calls_;
    Cuda::MapProperties properties_;
    std::size_t granularity_ = 0;
    std::map<void*, Mapping> mappings_;
};

}  // namespace

std::unique_ptr<Allocator> mapped_memory(const Cuda::Calls& calls, Cuda::Device device) {
    for (const bool there :
         {calls.map_granularity && calls.map_create && calls.map_destroy,
          calls.map_reserve && calls.map_unreserve && calls.map && calls.unmap && calls.map_access})
        if (!there) throw Unavailable("the driver has no cuMemCreate (CUDA 10.2)");
    return std::make_unique<MappedMemory>(calls, device);
}

}  // namespace wirespeed::cuda
