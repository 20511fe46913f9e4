#include "libraries/openmp.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace wirespeed {
namespace {

/// What LLVM's compiler puts into a program; one without code for devices is empty.
struct OffloadImages {
    std::int32_t images = 0;
    void *first_image = nullptr, *first_entry = nullptr, *last_entry = nullptr;
};

struct OmpTarget {
    WS_OMPTARGET_CALLS(WS_TABLE_MEMBER)
    explicit OmpTarget(const Library& library) { WS_OMPTARGET_CALLS(WS_TABLE_BIND_IF_THERE) }
};

/// LLVM's runtime looks for devices only when a program registers: from version 19 on it counts
/// programs by the first call, before that it must be told what they require.
void start_omptarget(const Library& library) {
    const OmpTarget calls(library);
    if (!calls.register_program) return;
    // It stays registered until the process ends.
    static OffloadImages nothing;
    if (calls.init)
        calls.init();
    else if (calls.requires_)
        calls.requires_(1);
    calls.register_program(&nothing);
    if (calls.init_devices) calls.init_devices();
}

/// libomptarget looks up the host's runtime among what is there for all, and crashes where that
/// comes later than itself.
void open_host_runtime(const std::string& library) {
    if (library.find("omptarget") == std::string::npos) return;
    const auto slash = library.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : library.substr(0, slash + 1);
    for (const char* name : {"libomp.so.5", "libomp.so", "libiomp5.so"})
        if (dlopen((folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL)) return;
}

/// Runtimes have no call for their version. The name of LLVM's, Intel's and NVIDIA's file has it;
/// GCC's is told by the calls that each release added.
std::string version_of(const Library& library, const void* function) {
    Dl_info info{};
    const bool found = dladdr(function, &info) && info.dli_fname;
    const std::unique_ptr<char, decltype(&std::free)> real(
        found ? realpath(info.dli_fname, nullptr) : nullptr, std::free);
    const std::string file = real ? real.get() : library.path();
    if (file.find("libgomp") == std::string::npos) return file;
    constexpr std::array<std::pair<const char*, const char*>, 4> releases{
        {{"omp_get_uid_from_device", "GCC 15 or newer, "},
         {"omp_target_memcpy_async", "GCC 13 or 14, "},
         {"omp_display_env", "GCC 12, "},
         {"omp_fulfill_event", "GCC 11, "}}};
    for (const auto& [symbol, release] : releases)
        if (library.find(symbol)) return release + file;
    return "GCC 10 or older, " + file;
}

OpenMp first_with_devices() {
    std::vector<std::string> files = {"libgomp.so.1", "libomptarget.so", "libnvomp.so"};
    if (const std::string known = Library::known_path("openmp"); !known.empty()) files = {known};
    std::string why;
    for (const std::string& file : files) {
        try {
            open_host_runtime(file);
            OpenMp found(Library("OpenMP", {file}));
            if (found.devices > 0) return found;
            throw Error(file + " has no device (omp_get_num_devices)");
        } catch (const Error& error) {
            why += (why.empty() ? "" : "; ") + std::string(error.what());
        }
    }
    throw Unavailable(
        why + "; GCC's runtime needs its plugin (libgomp-plugin-nvptx1), LLVM's a libcuda.so");
}

}  // namespace

OpenMp::OpenMp(const Library& library) : library(library.path()) {
    WS_OPENMP_CALLS(WS_TABLE_BIND)
    WS_OPENMP_EXTENSIONS(WS_TABLE_BIND_IF_THERE)
    version = version_of(library, reinterpret_cast<const void*>(allocate));
    start_omptarget(library);
    devices = device_count();
}

const OpenMp& OpenMp::runtime() {
    static const OpenMp found = first_with_devices();
    return found;
}

}  // namespace wirespeed
