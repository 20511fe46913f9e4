// Memory that the fake NCCL hands out and knows: it ends the process where a program registers
// other memory, frees what is still registered, or makes windows of different sizes.
#pragma once

#include <map>

#include "fake_nccl_base.hpp"

namespace {

/// What ncclMemAlloc handed out, in bytes; and what of it a program has registered, as what.
std::map<char*, std::size_t> allocated;
constexpr std::size_t page = 4096;  ///< NCCL_WIN_REQUIRED_ALIGNMENT
struct Known {
    std::size_t bytes;
    std::string kind;
};
std::map<char*, Known> registered;

bool lies_in(const char* inner, std::size_t bytes, const char* outer, std::size_t room) {
    return inner >= outer && inner + bytes <= outer + room;
}

/// Does all of it lie in memory that is known as what collective operations want?
void want_known(const void* address, std::size_t bytes) {
    const char* const wanted = std::getenv("FAKE_NCCL_WANTS");
    if (!wanted) return;
    for (const auto& [begin, known] : registered)
        if (lies_in(static_cast<const char*>(address), bytes, begin, known.bytes) &&
            known.kind == wanted)
            return;
    end("an operation outside of registered buffers");
}

/// Part of an allocation will do, as for NCCL.
int make_known(char* address, std::size_t bytes, const char* kind, void** handle) {
    for (const auto& [begin, room] : allocated)
        if (lies_in(address, bytes, begin, room) &&
            registered.insert({address, {bytes, kind}}).second) {
            *handle = address;
            return 0;
        }
    end("a buffer that is not ncclMemAlloc's, or is known already");
}
int forget(void* handle, const char* kind) {
    const auto found = registered.find(static_cast<char*>(handle));
    if (found == registered.end() || found->second.kind != kind) end("forgets what is not known");
    registered.erase(found);
    return 0;
}

}  // namespace

#ifndef OLD
extern "C" {

int ncclMemAlloc(void** address, std::size_t bytes) {
    if (const int code = fault("ncclMemAlloc")) return code;
    void* const call = driver_call("cuMemAlloc_v2", "hipMalloc");
    if (!call) return 3;
    const int code = reinterpret_cast<int (*)(void**, std::size_t)>(call)(address, bytes);
    if (!code) allocated[static_cast<char*>(*address)] = bytes;
    return code ? 1 : 0;
}

int ncclMemFree(void* address) {
    const auto found = allocated.find(static_cast<char*>(address));
    if (found == allocated.end()) end("frees what it did not hand out");
    for (const auto& [begin, known] : registered)
        if (lies_in(begin, known.bytes, found->first, found->second))
            end("frees what is still known");
    allocated.erase(found);
    void* const call = driver_call("cuMemFree_v2", "hipFree");
    return reinterpret_cast<int (*)(void*)>(call)(address) ? 1 : 0;
}

int ncclCommRegister(Comm*, void* address, std::size_t bytes, void** handle) {
    if (const int code = fault("ncclCommRegister")) return code;
    return make_known(static_cast<char*>(address), bytes, "registered", handle);
}
int ncclCommDeregister(Comm*, void* handle) { return forget(handle, "registered"); }

int ncclCommWindowRegister(Comm* comm, void* address, std::size_t bytes, void** window, int flags) {
    if (const int code = fault("ncclCommWindowRegister")) return code;
    *window = nullptr;
    if (number("FAKE_NCCL_NO_WINDOWS", 0)) return 0;
    if (flags != 1 || bytes % page || reinterpret_cast<std::uintptr_t>(address) % page)
        end("a window that is not symmetric, or not of whole pages");
    if (comm->rank == 0) comm->shared->window_bytes = bytes;
    ++comm->shared->windows;
    ++comm->windows;
    while (comm->shared->windows < comm->windows * comm->ranks) sched_yield();
    if (comm->shared->window_bytes != bytes) end("ranks make windows of different sizes");
    return make_known(static_cast<char*>(address), bytes, "symmetric", window);
}
int ncclCommWindowDeregister(Comm*, void* window) { return forget(window, "symmetric"); }
}
#endif
