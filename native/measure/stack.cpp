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
