// What fake_cuda.cpp has besides what CUDA and HIP have in common: contexts, which a program makes
// and pushes, and memory that is not cuMemAlloc's. The rest is what libgomp's plugin for NVIDIA's
// GPUs and NVRTC look up when they are opened; what the plugin needs to run kernels does not work.
#pragma once

#include "fake_gpu.hpp"

namespace fake {

/// A context is a number: a primary one is its device's plus one, a program's own is above these.
constexpr int first_own = 1000;
inline auto& own_contexts = *new std::map<int, int>;  ///< number to device
inline thread_local auto& pushed = *new std::vector<int>;

inline int number_of(void* context) { return static_cast<int>(number(context)); }
inline void* context_of(int number) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}
/// The device of a context; -1: there is no such context.
inline int device_of(int number) {
    if (own_contexts.count(number)) return own_contexts[number];
    return contexts.count(number - 1) ? number - 1 : -1;
}
inline void use_top() {
    current_context = pushed.empty() ? 0 : pushed.back();
    current = pushed.empty() ? -1 : device_of(current_context);
}
inline int push(int number) {
    if (device_of(number) < 0) return invalid_context;
    pushed.push_back(number);
    use_top();
    return success;
}
inline int pop(void** context) {
    if (pushed.empty()) return invalid_context;
    *context = context_of(pushed.back());
    pushed.pop_back();
    use_top();
    return success;
}
inline int set_context(int number) {
    if (number && device_of(number) < 0) return invalid_context;
    if (!pushed.empty()) pushed.pop_back();
    if (number) pushed.push_back(number);
    use_top();
    return success;
}
inline int create_context(void** context, int device) {
    const int number = first_own + static_cast<int>(own_contexts.size());
    own_contexts[number] = device;
    *context = context_of(number);
    return push(number);
}

/// Memory of a pool or of a mapping: no context's, and without an IPC handle.
inline int allocate_unshared(void** address, std::size_t bytes) {
    const int code = allocate(address, bytes, Kind::device);
    if (code != success) return code;
    auto& block = block_of(*address)->second;
    block.context = 0;
    block.ipc = false;
    return success;
}

/// cuMemCreate's memory: nothing is there until it is mapped, to be used only with access.
struct Mapped {
    std::size_t bytes;
    bool mapped, access;
};
constexpr std::size_t granularity = std::size_t{2} << 20;
inline auto& reserved = *new std::map<std::uintptr_t, Mapped>;
inline auto& created = *new std::map<unsigned long long, std::size_t>;

inline int reserve(void** address, std::size_t bytes) {
    if (bytes == 0 || bytes % granularity) return invalid_value;
    const int code = allocate_unshared(address, bytes);
    if (code == success) reserved[number(*address)] = {bytes, false, false};
    return code;
}
inline int map(void* address, std::size_t bytes, unsigned long long handle) {
    auto found = reserved.find(number(address));
    if (found == reserved.end() || found->second.mapped || created[handle] != bytes ||
        found->second.bytes != bytes)
        return invalid_value;
    found->second.mapped = true;
    return success;
}
inline int give_access(void* address, std::size_t bytes) {
    auto found = reserved.find(number(address));
    if (found == reserved.end() || !found->second.mapped || found->second.bytes != bytes)
        return invalid_value;
    found->second.access = true;
    return success;
}
inline int unmap(void* address) {
    auto found = reserved.find(number(address));
    if (found == reserved.end() || !found->second.mapped) return invalid_value;
    found->second.mapped = false;
    return success;
}
inline int unreserve(void* address) {
    auto found = reserved.find(number(address));
    if (found == reserved.end() || found->second.mapped) return invalid_value;
    reserved.erase(found);
    return release(address);
}
inline int create(unsigned long long* handle, std::size_t bytes) {
    if (bytes == 0 || bytes % granularity) return invalid_value;
    *handle = 1 + created.size();
    created[*handle] = bytes;
    return success;
}

}  // namespace fake

// clang-format off
FAKE(cuCtxSetCurrent, (void* context), return fake::set_context(fake::number_of(context));)
FAKE(cuCtxGetCurrent, (void** context), *context = fake::context_of(fake::current_context);
     return fake::success;)
FAKE(cuCtxGetDevice, (int* device),
     if (fake::current < 0) return fake::invalid_context;
     *device = fake::current; return fake::success;)
FAKE(cuCtxCreate_v2, (void** context, unsigned, int device),
     return fake::create_context(context, device);)
FAKE(cuCtxDestroy_v2, (void* context),
     return fake::own_contexts.count(fake::number_of(context)) ? fake::success : fake::invalid_context;)
FAKE(cuCtxPushCurrent_v2, (void* context), return fake::push(fake::number_of(context));)
FAKE(cuCtxPopCurrent_v2, (void** context), return fake::pop(context);)
FAKE(cuCtxSynchronize, (), fake::default_stream.finish(); return fake::success;)
FAKE(cuDevicePrimaryCtxGetState, (int device, unsigned* flags, int* active), *flags = 0;
     *active = fake::contexts.count(device) > 0; return fake::success;)

FAKE(cuMemAllocAsync, (void** address, std::size_t bytes, void*),
     return fake::allocate_unshared(address, bytes);)
FAKE(cuMemGetAllocationGranularity, (std::size_t* bytes, const void*, int),
     *bytes = fake::granularity; return fake::success;)
FAKE(cuMemCreate, (unsigned long long* handle, std::size_t bytes, const void*, unsigned long long),
     return fake::create(handle, bytes);)
FAKE(cuMemRelease, (unsigned long long handle),
     return fake::created.erase(handle) ? fake::success : fake::invalid_value;)
FAKE(cuMemAddressReserve, (void** address, std::size_t bytes, std::size_t, void*, unsigned long long),
     return fake::reserve(address, bytes);)
FAKE(cuMemAddressFree, (void* address, std::size_t), return fake::unreserve(address);)
FAKE(cuMemMap, (void* address, std::size_t bytes, std::size_t, unsigned long long handle, unsigned long long),
     return fake::map(address, bytes, handle);)
FAKE(cuMemUnmap, (void* address, std::size_t), return fake::unmap(address);)
FAKE(cuMemSetAccess, (void* address, std::size_t bytes, const void*, std::size_t),
     return fake::give_access(address, bytes);)

FAKE(cuMemAllocHost_v2, (void** address, std::size_t bytes),
     return fake::allocate(address, bytes, fake::Kind::pinned);)
FAKE(cuMemcpyHtoD_v2, (void* to, const void* from, std::size_t bytes), return fake::copy(to, from, bytes);)
FAKE(cuMemcpyDtoH_v2, (void* to, const void* from, std::size_t bytes), return fake::copy(to, from, bytes);)
FAKE(cuMemcpyHtoDAsync_v2, (void* to, const void* from, std::size_t bytes, void* stream),
     return fake::copy_async(to, from, bytes, stream);)
FAKE(cuMemcpyDtoHAsync_v2, (void* to, const void* from, std::size_t bytes, void* stream),
     return fake::copy_async(to, from, bytes, stream);)
FAKE(cuMemcpyDtoDAsync_v2, (void* to, const void* from, std::size_t bytes, void* stream),
     return fake::copy_async(to, from, bytes, stream);)
#define LACKS(call) FAKE(call, (), return fake::not_supported;)
LACKS(cuFuncGetAttribute)
FAKE(cuGetExportTable, (const void** table, const void*), *table = nullptr;
     return fake::not_found;)
LACKS(cuLinkAddData_v2)
LACKS(cuLinkAddData)
LACKS(cuLinkComplete)
LACKS(cuLinkCreate_v2)
LACKS(cuLinkCreate)
LACKS(cuLinkDestroy)
LACKS(cuModuleGetGlobal_v2)
LACKS(cuModuleLoad)
LACKS(cuModuleUnload)
LACKS(cuOccupancyMaxPotentialBlockSize)
LACKS(cuStreamAddCallback)
// clang-format on
