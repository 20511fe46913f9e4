// How many copies of which kind a device has done, and how many bytes they were.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace wirespeed {

enum class CopyKind { host_to_device, device_to_host, on_device, peer };
inline constexpr std::array copy_kind_names{"host_to_device", "device_to_host", "on_device",
                                            "peer"};

struct CopyCount {
    std::uint64_t count = 0, bytes = 0;
};
/// By CopyKind.
using CopyCounts = std::array<CopyCount, copy_kind_names.size()>;

/// Counts from several threads.
class CopyCounter {
  public:
    void add(CopyKind kind, std::uint64_t bytes) {
        auto& one = counts_[static_cast<std::size_t>(kind)];
        one.count.fetch_add(1, std::memory_order_relaxed);
        one.bytes.fetch_add(bytes, std::memory_order_relaxed);
    }
    void clear() {
        for (auto& one : counts_) one.count = one.bytes = 0;
    }
    CopyCounts counts() const {
        CopyCounts found;
        for (std::size_t i = 0; i < counts_.size(); ++i)
            found[i] = {counts_[i].count.load(), counts_[i].bytes.load()};
        return found;
    }

  private:
    struct One {
        std::atomic<std::uint64_t> count = 0, bytes = 0;
    };
    std::array<One, copy_kind_names.size()> counts_;
};

}  // namespace wirespeed
