#include "transports/local/symmetric_heap.hpp"

#include <sys/sysinfo.h>

#include <algorithm>

namespace wirespeed {

std::size_t host_heap_bytes(std::size_t ranks_here) {
    struct sysinfo host{};
    sysinfo(&host);
    const std::size_t memory = static_cast<std::size_t>(host.totalram) * host.mem_unit;
    return std::min(largest_heap, memory / 2 / ranks_here);
}

}  // namespace wirespeed
