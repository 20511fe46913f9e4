// The C interface for tests alone.
#include <cstdint>
#include <cstring>

#include "api.hpp"
#include "kernels/compile.hpp"
#include "kernels/source.hpp"
#include "transports/fault_injection.hpp"

#pragma GCC visibility push(default)
#include "wirespeed_test.h"
#pragma GCC visibility pop

using namespace wirespeed;
using namespace wirespeed::api;

void* ws_device_allocate(ws_device* device, const char* memory, uint64_t bytes) {
    return guarded<void*>(nullptr, [&] {
        device->device->enter();
        return device->device->allocate_buffer(memory_from(memory), bytes);
    });
}
void ws_device_release(ws_device* device, const char* memory, void* address) {
    succeeded([&] { device->device->release(memory_from(memory), address); });
}
int ws_device_share(ws_device* device, void* address, void* handle) {
    return succeeded([&] {
        const ShareHandle shared = device->device->share(address);
        std::memcpy(handle, shared.bytes.data(), sizeof shared.bytes);
    });
}
void* ws_device_open_shared(ws_device* device, const void* handle) {
    return guarded<void*>(nullptr, [&] {
        ShareHandle shared;
        std::memcpy(shared.bytes.data(), handle, sizeof shared.bytes);
        return device->device->open(shared);
    });
}
int ws_device_close_shared(ws_device* device, void* address) {
    return succeeded([&] { device->device->close(address); });
}

const char* ws_kernel_source(const char* kernel) {
    return guarded<const char*>(nullptr, [&] { return unit_of(kernel).text.c_str(); });
}
int64_t ws_kernel_compile(const char* architecture) {
    return guarded<int64_t>(-1,
                            [&] { return static_cast<int64_t>(compile_kernels(architecture)); });
}

int ws_program_inject_fault(ws_program* program, const char* fault) {
    return ws_program_inject_fault_at(program, fault, 0, program->received, 1);
}
int ws_program_inject_fault_at(ws_program* program, const char* fault, uint64_t begin,
                               uint64_t bytes, uint64_t element) {
    return succeeded([&] {
        program->program =
            inject_fault(std::move(program->program), fault, program->owner->context.device,
                         program->buffers, {begin, bytes, element});
    });
}
