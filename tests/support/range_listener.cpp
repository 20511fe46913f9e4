// A profiler's library that writes what it hears to the file HEARD.<process>: "> name" and "<" for
// ranges,
// "= name" for a thread, "end" at the end of the process. NVTX finds it as NVTX_INJECTION64_PATH
// (by NVTX's own documentation of its tables), roctx as librocprofiler-sdk-roctx.so.1.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

FILE* heard() {
    static FILE* file = [] {
        const char* start = std::getenv("HEARD");
        FILE* opened =
            std::fopen((std::string(start) + "." + std::to_string(getpid())).c_str(), "a");
        std::atexit([] { std::fputs("end\n", heard()); });
        return opened;
    }();
    return file;
}

int push(const char* name) {
    std::fprintf(heard(), "> %s\n", name);
    std::fflush(heard());
    return 0;
}
int pop() {
    std::fputs("<\n", heard());
    std::fflush(heard());
    return 0;
}
void name_thread(const char* name) { std::fprintf(heard(), "= %s\n", name); }

using Any = void (*)();
struct Callbacks {
    std::size_t size;
    int (*functions)(int module, Any*** table, unsigned* count);
};

}  // namespace

extern "C" int InitializeInjectionNvtx2(const void* (*tables)(std::uint32_t)) {
    const auto* callbacks = static_cast<const Callbacks*>(tables(1));
    Any** table = nullptr;
    unsigned count = 0;
    // Of the modules, tools take the core (1) and its second part (5).
    if (!callbacks->functions(5, &table, &count) || count != 16 || !table[15]) return 0;
    if (!callbacks->functions(1, &table, &count) || count != 16) return 0;
    *table[9] = reinterpret_cast<Any>(push);
    *table[11] = reinterpret_cast<Any>(pop);
    *table[14] = reinterpret_cast<Any>(+[](std::uint32_t, const char* name) { name_thread(name); });
    return 1;
}

extern "C" int roctxRangePushA(const char* name) { return push(name); }
extern "C" int roctxRangePop() { return pop(); }
extern "C" int roctxNameOsThread(const char* name) {
    name_thread(name);
    return 0;
}
