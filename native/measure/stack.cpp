#include "measure/stack.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdlib>
#include <cstring>

namespace wirespeed {
namespace {

constexpr int most_frames = 64;

bool starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

bool is_plumbing(const std::string& library) {
    return library.empty() || starts(library, "libc.so") || starts(library, "libc-") ||
           starts(library, "libpthread") || starts(library, "libwirespeed") ||
           starts(library, "linux-vdso") || starts(library, "libasan") ||
           starts(library, "libffi") || starts(library, "_cffi");
}

/// A function of a library that is loaded already; null where there is none.
template <class F> F* loaded_function(const char* library, const char* function) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? reinterpret_cast<F*>(dlsym(handle, function)) : nullptr;
}

/// By functions that return a constant: who asks may have crashed.
std::string own_version(const Frame& frame) {
    const char* file = frame.file.c_str();
    if (starts(frame.library, "libuc")) {
        if (auto* version = loaded_function<const char*()>("libucp.so.0", "ucp_get_version_string"))
            return std::string("UCX ") + version();
    } else if (starts(frame.library, "libnccl")) {
        int number = 0;
        auto* version = loaded_function<int(int*)>(file, "ncclGetVersion");
        if (version && version(&number) == 0)
            return "NCCL " + std::to_string(number / 10000) + "." +
                   std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
    } else if (starts(frame.library, "libfabric")) {
        if (auto* version = loaded_function<std::uint32_t()>(file, "fi_version"))
            return "libfabric " + std::to_string(version() >> 16) + "." +
                   std::to_string(version() & 0xffff);
    }
    return {};
}

}  // namespace

int take_frames(std::uint64_t* frames, int most) noexcept {
    void* addresses[most_frames];
    const int count = backtrace(addresses, most < most_frames ? most : most_frames);
    for (int i = 0; i < count; ++i) frames[i] = reinterpret_cast<std::uint64_t>(addresses[i]);
    return count;
}

Frame name_frame(std::uint64_t address) {
    Frame frame;
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(address), &info)) return frame;
    if (info.dli_fname) {
        const char* slash = std::strrchr(info.dli_fname, '/');
        frame.library = slash ? slash + 1 : info.dli_fname;
        frame.file = info.dli_fname;
    }
    if (info.dli_sname) {
        int status = -1;
        char* plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
        frame.function = status == 0 && plain ? plain : info.dli_sname;
        std::free(plain);
    }
    return frame;
}

std::vector<Frame> name_frames(const std::uint64_t* frames, int count) {
    std::vector<Frame> result;
    for (int i = 0; i < count; ++i) result.push_back(name_frame(frames[i]));
    return result;
}

std::vector<Frame> outside_frames(const std::vector<Frame>& frames) {
    std::vector<Frame> result;
    for (const auto& frame : frames) {
        const bool python = starts(frame.library, "python") || starts(frame.library, "libpython");
        if (result.empty() && (python || is_plumbing(frame.library))) continue;
        if (starts(frame.library, "_cffi")) break;
        result.push_back(frame);
    }
    return result;
}

std::string loaded_library(const Frame& frame) {
    if (frame.file.empty()) return {};
    char* real = realpath(frame.file.c_str(), nullptr);
    const std::string file = real ? real : frame.file;
    std::free(real);
    const std::string version = own_version(frame);
    return version.empty() ? file : version + ", " + file;
}

Frame culprit(const std::vector<Frame>& frames) {
    Frame nameless;
    for (const auto& frame : frames) {
        if (is_plumbing(frame.library)) continue;
        if (starts(frame.library, "python") || starts(frame.library, "libpython")) break;
        if (!frame.function.empty()) return frame;
        if (nameless.library.empty()) nameless = frame;
    }
    return nameless;
}

}  // namespace wirespeed
