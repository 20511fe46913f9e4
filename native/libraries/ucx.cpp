#include "libraries/ucx.hpp"

#include <dlfcn.h>

#include "core/error.hpp"

namespace wirespeed {

Library Ucx::open() {
    constexpr const char* file = "libucp.so.0";
    if (dlopen(file, RTLD_NOW | RTLD_NOLOAD)) return Library("UCX that MPI loaded", {file});
    try {
        return Library("ucx", {file});
    } catch (const Unavailable& error) {
        const std::string absent = ": cannot open shared object file: No such file or directory";
        if (error.what() != "ucx not found: " + (file + absent)) throw;
        throw Unavailable(
            "libucp.so.0 not found (pip install libucx-cu13, or apt install libucx0)");
    }
}

}  // namespace wirespeed
