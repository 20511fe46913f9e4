#include "devices/openmp/host_memory.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace wirespeed::openmp {

bool in_host_memory(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char rights[5] = "";
        unsigned long inode = 1;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &begin, &end,
                        rights, &inode) != 4)
            continue;
        if (wanted < begin || wanted >= end) continue;
        return rights[0] == 'r' && rights[1] == 'w' && rights[3] == 'p' && inode == 0;
    }
    return false;
}

}  // namespace wirespeed::openmp
