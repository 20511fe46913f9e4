// How NVTX joins a program and a profiler, without NVIDIA's headers (nvtx3/nvtxDetail/nvtxTypes.h):
// the program offers tables of pointers, and the profiler's library stores its own functions in
// them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wirespeed::nvtx {

using Function = void (*)();
using RangePush = int(const char* name);
using RangePop = int();
using NameThread = void(std::uint32_t thread, const char* name);
/// What a profiler's library calls to get a table, and what it is started with.
using ExportTable = const void*(std::uint32_t id);
using Initialize = int(ExportTable* tables);

inline constexpr std::uint32_t callbacks_table = 1, version_table = 3;
/// The module of ranges, and the number of functions of each module, by its number.
inline constexpr int core = 1;
inline constexpr unsigned functions[] = {0, 16, 9, 15, 7, 16, 7};
inline constexpr unsigned range_push = 9, range_pop = 11, name_thread = 14;

struct Callbacks {
    std::size_t struct_size;
    int (*module_functions)(int module, Function*** table, unsigned* count);
};

struct Version {
    std::size_t struct_size;
    std::uint32_t version;
    std::uint32_t reserved;
    void (*set_profiler_version)(std::uint32_t version);
};

}  // namespace wirespeed::nvtx
