// OpenACC's runtimes: GCC's libgomp and NVIDIA's libacchost. tests/native holds every declaration
// against GCC's openacc.h.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.hpp"
#include "libraries/table.hpp"

// clang-format off
#define WS_OPENACC_CALLS(CALL) \
    CALL(device_count, acc_get_num_devices, int(int type)) \
    CALL(set_device, acc_set_device_num, void(int device, int type)) \
    CALL(allocate, acc_malloc, void*(std::size_t bytes)) \
    CALL(free, acc_free, void(void* address)) \
    CALL(copy_in, acc_copyin, void*(void* host, std::size_t bytes)) \
    CALL(remove, acc_delete, void(void* host, std::size_t bytes)) \
    CALL(device_address, acc_deviceptr, void*(void* host))
// clang-format on

namespace wirespeed {

struct OpenAcc {
    static constexpr int nvidia_of_gcc = 5, nvidia_of_nvidia = 4;

    WS_OPENACC_CALLS(WS_TABLE_MEMBER)

    std::string library;  ///< the file that was opened
    int gpu;              ///< what it calls NVIDIA's GPUs

    /// Throws Unavailable where the runtime has no GPU.
    explicit OpenAcc(const Library& opened)
        : library(opened.path()),
          gpu(opened.find("GOACC_parallel_keyed") ? nvidia_of_gcc : nvidia_of_nvidia) {
        const Library& library = opened;
        WS_OPENACC_CALLS(WS_TABLE_BIND)
        if (device_count(gpu) < 1)
            throw Unavailable(opened.path() +
                              " has no GPU (acc_get_num_devices); GCC's runtime needs its plugin "
                              "(libgomp-plugin-nvptx1)");
    }

    static const OpenAcc& runtime() {
        static const OpenAcc found(Library("openacc", {"libgomp.so.1", "libacchost.so"}));
        return found;
    }
};

}  // namespace wirespeed
