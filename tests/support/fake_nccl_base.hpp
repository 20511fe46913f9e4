// What the parts of the fake NCCL share: its communicator, faults, and the fake driver's calls.
#pragma once

#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

namespace {

struct UniqueId {
    char name[128];
};

/// Bytes on their way from one rank to another.
struct Channel {
    static constexpr std::size_t room = 1 << 16;
    alignas(64) std::atomic<std::size_t> written;
    alignas(64) std::atomic<std::size_t> read;
    char bytes[room];
};
struct Shared {
    std::atomic<int> joined, windows;
    std::atomic<std::size_t> window_bytes;
    Channel channels[1];  // by sender * ranks + receiver
};

struct Comm {
    int rank, ranks, asynchronous;
    long groups;
    Shared* shared;
    std::size_t mapped;
    std::set<std::pair<bool, int>> connected;
    int windows = 0;
    Channel& channel(int from, int to) const { return shared->channels[from * ranks + to]; }
};

long number(const char* name, long otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atol(text) : otherwise;
}

int fault(const std::string& call) {
    const char* text = std::getenv("FAKE_NCCL_FAIL");
    const std::string all = "," + std::string(text ? text : "");
    const auto at = all.find("," + call + "=");
    return at == std::string::npos ? 0 : std::atoi(all.c_str() + at + call.size() + 2);
}

[[noreturn]] void end(const char* why) {
    std::fprintf(stderr, "fake NCCL: %s\n", why);
    std::abort();
}

/// The fake driver's call, under one of two names.
void* driver_call(const char* cuda, const char* hip) {
    for (const char* variable : {"WIRESPEED_LIBRARY_CUDA", "WIRESPEED_LIBRARY_HIP"})
        if (const char* path = std::getenv(variable))
            if (void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD))
                for (const char* name : {cuda, hip})
                    if (void* call = dlsym(library, name)) return call;
    return nullptr;
}

}  // namespace
