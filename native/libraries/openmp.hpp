// The runtimes of OpenMP's target constructs, without a compiled program: GCC's libgomp, LLVM's and
// Intel's libomptarget, NVIDIA's libnvomp. tests/native holds every declaration against GCC's
// omp.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libraries/table.hpp"

// clang-format off
#define WS_OPENMP_CALLS(CALL) \
    CALL(device_count, omp_get_num_devices, int()) \
    CALL(host_device, omp_get_initial_device, int()) \
    CALL(allocate, omp_target_alloc, void*(std::size_t bytes, int device)) \
    CALL(free, omp_target_free, void(void* address, int device)) \
    CALL(copy, omp_target_memcpy, int(void* to, const void* from, std::size_t bytes, \
         std::size_t to_offset, std::size_t from_offset, int to_device, int from_device)) \
    CALL(associate, omp_target_associate_ptr, int(const void* host, const void* address, \
         std::size_t bytes, std::size_t offset, int device)) \
    CALL(dissociate, omp_target_disassociate_ptr, int(const void* host, int device)) \
    CALL(present, omp_target_is_present, int(const void* host, int device))

// What only some runtimes have: LLVM's and Intel's pinned memory, OpenMP 6.0's names of devices.
#define WS_OPENMP_EXTENSIONS(CALL) \
    CALL(allocate_pinned, llvm_omp_target_alloc_host, void*(std::size_t bytes, int device)) \
    CALL(free_pinned, llvm_omp_target_free_host, void(void* address, int device)) \
    CALL(uid, omp_get_uid_from_device, const char*(int device))

// LLVM's and Intel's alone: what a compiled program's start-up code would call.
#define WS_OMPTARGET_CALLS(CALL) \
    CALL(init, __tgt_rtl_init, void()) \
    CALL(requires_, __tgt_register_requires, void(std::int64_t flags)) \
    CALL(register_program, __tgt_register_lib, void(void* program)) \
    CALL(init_devices, __tgt_init_all_rtls, void())
// clang-format on

namespace wirespeed {

struct OpenMp {
    WS_OPENMP_CALLS(WS_TABLE_MEMBER)
    /// Null where the runtime has no such call.
    WS_OPENMP_EXTENSIONS(WS_TABLE_MEMBER)

    std::string library;  ///< the file that was opened
    std::string
        version;  ///< "GCC 12, /usr/lib/.../libgomp.so.1.0.0": where it says so, and the file
    int devices = 0;

    /// Opens the runtime in a library and sets it up; throws Error where it is none.
    explicit OpenMp(const Library& library);

    /// The first runtime that has devices, opened once. LLVM's may be the CPU. Throws Unavailable
    /// that says why each one has none.
    static const OpenMp& runtime();
};

}  // namespace wirespeed
