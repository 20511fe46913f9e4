#include "libraries/nccl.hpp"

#include "core/error.hpp"

namespace wirespeed {
namespace {

/// Did the loader find no file at all, rather than one that it could not load?
bool absent(const std::string& why, const std::vector<std::string>& candidates) {
    std::size_t complaints = 1, missing = 0;
    for (auto at = why.find("; "); at != std::string::npos; at = why.find("; ", at + 1))
        ++complaints;
    for (const auto& path : candidates)
        if (why.find(path + ": cannot open shared object file") != std::string::npos) ++missing;
    return missing == complaints;
}

}  // namespace

Library Nccl::open(const std::string& device_kind) {
    const bool amd = device_kind == "hip";
    const std::vector<std::string> candidates =
        amd ? std::vector<std::string>{"librccl.so.1", "/opt/rocm/lib/librccl.so.1"}
            : std::vector<std::string>{"libnccl.so.2"};
    try {
        return Library(amd ? "rccl" : "nccl", candidates);
    } catch (const Unavailable& error) {
        if (!absent(error.what(), candidates)) throw;
        throw Unavailable(amd ? "librccl.so.1 not found (ROCm has it in the package rccl)"
                              : "libnccl.so.2 not found (pip install nvidia-nccl-cu13)");
    }
}

std::string Nccl::version_text(int version) {
    // Before 2.9 the major version stood in the thousands.
    const int major = version < 10000 ? 1000 : 10000;
    return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
           std::to_string(version % 100);
}

std::string Nccl::text(const Calls& calls, Result code, Comm comm) {
    const char* const words = calls.error_string(code);
    const char* const more = calls.last_error ? calls.last_error(comm) : nullptr;
    std::string text = words ? words : "error " + std::to_string(code);
    if (more && *more) text += std::string(": ") + more;
    for (char& c : text)
        if (c == '\n') c = ' ';
    return text;
}

}  // namespace wirespeed
