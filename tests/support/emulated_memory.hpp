// For tests alone: where an address of emulated device memory can be touched, for stand-ins of
// libraries that take such memory. A real one asks the driver what a pointer is, these ask
// /proc/self/maps.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace emulated_memory {

struct Range {
    std::uintptr_t first, last, view;
};

inline std::vector<Range> ranges() {
    std::map<std::string, std::pair<std::uintptr_t, std::uintptr_t>> faulting;
    std::map<std::string, std::uintptr_t> accessible;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find("/memfd:wirespeed-emulated") == std::string::npos) continue;
        std::istringstream words(line);
        std::string range, rights, offset, device, inode;
        words >> range >> rights >> offset >> device >> inode;
        const auto dash = range.find('-');
        const auto first = std::stoull(range.substr(0, dash), nullptr, 16);
        const auto last = std::stoull(range.substr(dash + 1), nullptr, 16);
        if (rights[0] == '-')
            faulting[inode] = {first, last};
        else
            accessible[inode] = first;
    }
    std::vector<Range> all;
    for (const auto& [inode, span] : faulting)
        if (accessible.count(inode)) all.push_back({span.first, span.second, accessible[inode]});
    return all;
}

inline void* view(const void* address) {
    // Read anew for each call: a buffer given back may have left its address to host memory.
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const auto& range : ranges())
        if (at >= range.first && at < range.last)
            return reinterpret_cast<void*>(range.view + (at - range.first));
    return const_cast<void*>(address);
}

}  // namespace emulated_memory
