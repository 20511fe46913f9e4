#include "libraries/ranges.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "core/error.hpp"
#include "libraries/library.hpp"
#include "libraries/nvtx.hpp"

namespace wirespeed {
namespace {

constexpr unsigned most_functions = 16;
nvtx::Function nvtx_functions[std::size(nvtx::functions)][most_functions];
nvtx::Function* nvtx_slots[std::size(nvtx::functions)][most_functions];

int module_functions(int module, nvtx::Function*** table, unsigned* count) {
    if (module < nvtx::core || module >= static_cast<int>(std::size(nvtx::functions))) return 0;
    for (unsigned i = 1; i < nvtx::functions[module]; ++i)
        nvtx_slots[module][i] = &nvtx_functions[module][i];
    if (table) *table = nvtx_slots[module];
    if (count) *count = nvtx::functions[module];
    return 1;
}

const void* export_table(std::uint32_t id) {
    static constexpr nvtx::Callbacks callbacks{sizeof(nvtx::Callbacks), module_functions};
    static constexpr nvtx::Version version{sizeof(nvtx::Version), 3, 0, [](std::uint32_t) {}};
    if (id == nvtx::callbacks_table) return &callbacks;
    return id == nvtx::version_table ? &version : nullptr;
}

bool open_nvtx() {
    constexpr const char* entry = "InitializeInjectionNvtx2";
    void* found = dlsym(RTLD_DEFAULT, entry);
    if (const char* path = std::getenv("NVTX_INJECTION64_PATH"); !found && path)
        if (void* library = dlopen(path, RTLD_LAZY)) found = dlsym(library, entry);
    return found && reinterpret_cast<nvtx::Initialize*>(found)(export_table);
}

template <class Signature> Signature* nvtx_function(unsigned number) {
    return reinterpret_cast<Signature*>(nvtx_functions[nvtx::core][number]);
}

struct Roctx {
    int (*push)(const char* name) = nullptr;
    int (*pop)() = nullptr;
    int (*name_thread)(const char* name) = nullptr;
} roctx;

bool is_set(const char* variable, const char* part = "") {
    const char* value = std::getenv(variable);
    return value && *value && std::strstr(value, part);
}

/// rocprofv3 names its library in ROCP_TOOL_LIBRARIES, and its predecessors in HSA_TOOLS_LIB.
bool open_roctx() {
    const bool current = is_set("ROCP_TOOL_LIBRARIES") || is_set("LD_PRELOAD", "rocprofiler-sdk");
    if (!current && !is_set("HSA_TOOLS_LIB")) return false;
    try {
        const Library library =
            current
                ? Library("roctx", {"librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so",
                                    "/opt/rocm/lib/librocprofiler-sdk-roctx.so"})
                : Library("roctx",
                          {"libroctx64.so.4", "libroctx64.so", "/opt/rocm/lib/libroctx64.so"});
        library.bind(roctx.push, "roctxRangePushA");
        library.bind(roctx.pop, "roctxRangePop");
        roctx.name_thread =
            reinterpret_cast<decltype(roctx.name_thread)>(library.find("roctxNameOsThread"));
    } catch (const Error&) {
        roctx = {};
    }
    return roctx.pop;
}

}  // namespace

std::vector<std::string> open_ranges() {
    static const std::vector<std::string> heard = [] {
        std::vector<std::string> names;
        if (open_nvtx()) names.emplace_back("nvtx");
        if (open_roctx()) names.emplace_back("roctx");
        return names;
    }();
    return heard;
}

void push_range(const char* name) {
    if (auto* push = nvtx_function<nvtx::RangePush>(nvtx::range_push)) push(name);
    if (roctx.push) roctx.push(name);
}

void pop_range() {
    if (auto* pop = nvtx_function<nvtx::RangePop>(nvtx::range_pop)) pop();
    if (roctx.pop) roctx.pop();
}

void name_thread(const char* name) {
    const auto thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    if (auto* give = nvtx_function<nvtx::NameThread>(nvtx::name_thread)) give(thread, name);
    if (roctx.name_thread) roctx.name_thread(name);
}

}  // namespace wirespeed
