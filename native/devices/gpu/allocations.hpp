// Which memory a device has handed out, so that a copy knows what it copies between.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "devices/device.hpp"

namespace wirespeed::gpu {

class Allocations {
  public:
    void add(void* address, std::size_t bytes, Memory kind) {
        const std::scoped_lock lock(mutex_);
        ends_[number(address)] = {number(address) + bytes, kind};
    }
    void remove(void* address) {
        const std::scoped_lock lock(mutex_);
        ends_.erase(number(address));
    }
    /// Nothing for memory of others.
    std::optional<Memory> kind_of(const void* address) const {
        const std::scoped_lock lock(mutex_);
        auto above = ends_.upper_bound(number(address));
        if (above == ends_.begin()) return {};
        const AllocationEnd& range = (--above)->second;
        if (number(address) >= range.end) return {};
        return range.kind;
    }

  private:
    struct AllocationEnd {
        std::uintptr_t end;
        Memory kind;
    };
    static std::uintptr_t number(const void* address) {
        return reinterpret_cast<std::uintptr_t>(address);
    }

    mutable std::mutex mutex_;
    std::map<std::uintptr_t, AllocationEnd> ends_;
};

}  // namespace wirespeed::gpu
