// The C interface's devices.
#include <algorithm>
#include <cstdint>

#include "api.hpp"
#include "core/helpers.hpp"
#include "core/json.hpp"
#include "devices/allocator/decorator.hpp"
#include "devices/emulated/declared.hpp"
#include "devices/work.hpp"
#include "kernels/compile.hpp"
#include "kernels/compile_apart.hpp"

using namespace wirespeed;
using namespace wirespeed::api;

namespace {

static_assert(sizeof(ws_piece) == sizeof(Piece) && alignof(ws_piece) == alignof(Piece));
std::span<const Piece> pieces_of(const ws_piece* pieces, uint64_t count) {
    return {reinterpret_cast<const Piece*>(pieces), count};
}

const DeviceKind& kind_called(const std::string& name) {
    std::string known;
    for (const auto& kind : device_kinds()) {
        if (kind.name == name) return kind;
        known += " " + kind.name;
    }
    throw Error("no device kind '" + name + "'; there are:" + known);
}

const DeviceKind& kind_with(const char* name, int index) {
    const auto& found = kind_called(name);
    const int count = found.count();
    if (index < 0 || index >= count)
        throw Error("no " + found.name + " device " + std::to_string(index) + ": there are " +
                    std::to_string(count));
    return found;
}

std::string text_of(const Identity& it) {
    return "{\"kind\": " + json_text(it.kind) + ", \"index\": " + std::to_string(it.index) +
           ", \"name\": " + json_text(it.name) + ", \"id\": " + json_text(it.id) +
           ", \"pci\": " + json_text(it.pci) + ", \"architecture\": " + json_text(it.architecture) +
           ", \"driver\": " + json_text(it.driver) + ", \"bytes\": " + std::to_string(it.bytes) +
           ", \"multiprocessors\": " +
           (it.multiprocessors ? std::to_string(it.multiprocessors) : "null") + "}";
}

std::string text_of(const PointerFacts& it) {
    const auto word = [](const std::string& text) {
        return text.empty() ? "null" : json_text(text);
    };
    const auto flag = [](std::optional<bool> yes) {
        return !yes ? "null" : *yes ? "true" : "false";
    };
    return "{\"memory\": " + word(it.memory) + ", \"context\": " + word(it.context) +
           ", \"device\": " + (it.device ? std::to_string(*it.device) : "null") +
           ", \"ipc\": " + flag(it.ipc) + ", \"rdma\": " + flag(it.rdma) +
           ", \"library\": " + word(it.library) + "}";
}

}  // namespace

int ws_device_count(const char* kind) {
    return guarded(-1, [&] { return kind_called(kind).count(); });
}
void ws_emulated_devices(int count) { emulated::set_usual_count(count); }
const char* ws_device_identity_of(const char* kind, int index) {
    return kept_text([&] { return text_of(kind_with(kind, index).identity(index)); });
}
ws_device* ws_device_open(const char* kind, int index, const char* allocator, int own_context) {
    return guarded<ws_device*>(nullptr, [&] {
        return new ws_device{
            open_with_allocator(kind_with(kind, index), index, allocator, own_context != 0)};
    });
}
const char* ws_device_pointer(ws_device* device, const void* address) {
    return kept_text([&] { return text_of(device->device->facts(address)); });
}
void ws_device_close(ws_device* device) { delete device; }
const char* ws_device_identity(ws_device* device) {
    return kept_text([&] { return text_of(device->device->identity()); });
}
void ws_share_node(int processes, int most) {
    share_node(static_cast<unsigned>(std::max(processes, 1)),
               static_cast<unsigned>(std::max(most, 1)));
}
int ws_device_fill(ws_device* device, const char* memory, void* to, uint64_t bytes, uint64_t seed,
                   int tag) {
    return succeeded([&] {
        device->device->fill(memory_from(memory), to, bytes, seed, static_cast<std::uint8_t>(tag));
    });
}
int ws_device_check(ws_device* device, const char* memory, const void* from, uint64_t bytes,
                    uint64_t seed, int tag, uint64_t* first_wrong) {
    return succeeded([&] {
        *first_wrong = device->device->check(memory_from(memory), from, bytes, seed,
                                             static_cast<std::uint8_t>(tag));
    });
}

int ws_device_fill_pieces(ws_device* device, const char* memory, void* pool, const ws_piece* pieces,
                          uint64_t count, uint64_t seed, int tag) {
    return succeeded([&] {
        device->device->fill_pieces(memory_from(memory), pool, pieces_of(pieces, count), seed,
                                    static_cast<std::uint8_t>(tag));
    });
}
int ws_device_check_pieces(ws_device* device, const char* memory, const void* pool,
                           const ws_piece* pieces, uint64_t count, uint64_t seed, int tag,
                           uint64_t* first_wrong) {
    return succeeded([&] {
        *first_wrong =
            device->device->check_pieces(memory_from(memory), pool, pieces_of(pieces, count), seed,
                                         static_cast<std::uint8_t>(tag));
    });
}

int ws_device_copy(ws_device* device, void* to, const void* from, uint64_t bytes) {
    return succeeded([&] { device->device->copy(to, from, bytes); });
}

void ws_kernel_compiler(const char* const* command) {
    compiler_command().clear();
    for (; *command; ++command) compiler_command().emplace_back(*command);
}
const void* ws_kernel_code(const char* unit, const char* architecture, uint64_t* bytes) {
    return guarded<const void*>(nullptr, [&] {
        static thread_local std::string kept;
        kept = compile_here(unit, architecture);
        *bytes = kept.size();
        return kept.data();
    });
}

int ws_device_load(ws_device* device, const char* kernel) {
    return succeeded([&] { device->device->load(kernel); });
}
int ws_device_launch(ws_device* device, const char* memory, const char* kernel, uint32_t blocks,
                     uint32_t threads, const uint64_t* arguments, uint32_t count) {
    return succeeded([&] {
        const Work work = make_work(kernel, blocks, threads, {arguments, count});
        device->device->enter();
        run(*device->device, memory_from(memory), work);
    });
}

int ws_device_fill_sums(ws_device* device, const char* memory, void* to, uint64_t bytes,
                        double start) {
    return succeeded([&] {
        device->device->enter();
        device->device->fill_sums(memory_from(memory), to, bytes, start);
    });
}
int ws_device_check_sums(ws_device* device, const char* memory, const void* from, uint64_t bytes,
                         double start, uint64_t* first_wrong) {
    return succeeded([&] {
        device->device->enter();
        *first_wrong = device->device->check_sums(memory_from(memory), from, bytes, start);
    });
}

int ws_device_watch_copies(ws_device* device, int on) {
    return succeeded([&] { device->device->watch_copies(on != 0); });
}
const char* ws_device_copies(ws_device* device) {
    return kept_text([&] {
        const CopyCounts counts = device->device->copies();
        std::string text;
        for (std::size_t i = 0; i < counts.size(); ++i)
            text += std::string(i ? ", " : "") + json_text(copy_kind_names[i]) +
                    ": {\"count\": " + std::to_string(counts[i].count) +
                    ", \"bytes\": " + std::to_string(counts[i].bytes) + "}";
        return "{" + text + "}";
    });
}
