// NVRTC and hipRTC are the same calls under two names: one table serves both.
#pragma once

#include <cstddef>

#include "libraries/table.hpp"

namespace wirespeed {

struct RuntimeCompiler {
    using Program = void*;

    int (*version)(int* major, int* minor) = nullptr;
    const char* (*error_string)(int code) = nullptr;
    int (*create)(Program*, const char* source, const char* name, int headers,
                  const char* const* contents, const char* const* names) = nullptr;
    int (*compile)(Program, int options, const char* const* texts) = nullptr;
    int (*log_size)(Program, std::size_t*) = nullptr;
    int (*log)(Program, char*) = nullptr;
    int (*code_size)(Program, std::size_t*) = nullptr;
    int (*code)(Program, char*) = nullptr;
    int (*destroy)(Program*) = nullptr;

    // NVRTC only, and not every version of it.
    int (*architecture_count)(int*) = nullptr;
    int (*architectures)(int*) = nullptr;
    int (*assembly_size)(Program, std::size_t*) = nullptr;
    int (*assembly)(Program, char*) = nullptr;

    static constexpr int success = 0;
};

}  // namespace wirespeed
