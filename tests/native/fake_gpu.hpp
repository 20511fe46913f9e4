// A GPU driver over host memory, for tests: memory, streams and sharing as CUDA and HIP have them,
// with their traps. fake_cuda.cpp and fake_hip.cpp give it the vendors' names.
//
// - Work that the vendors need not finish before they return (kernels, copies between devices or
//   from pageable memory) is not done until something waits for it.
// - A thread without a context is refused, and a process that opens its own handle.
// - fake_contexts(): primary contexts held; fake_retained(): how often one was taken.
// - Environment: FAKE_GPU_DEVICES (2), FAKE_GPU_NAME, FAKE_GPU_FAIL ("cuInit=100,cuMemcpy=700"),
//   FAKE_GPU_CLOCK ("graph=50,call=200": microseconds of a library's call inside a graph, or by
//   itself, by the clock of events, and besides what it really takes).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu.hpp"

namespace fake {

enum Code {
    success = 0,
    invalid_value = 1,
    too_large = 720,
    out_of_memory = 2,
    invalid_image = 200,
    invalid_context = 201,
    peer_unsupported = 217,
    peer_already = 704,
    not_ready = 600,
    not_found = 500,
    not_supported = 801,
    no_device = 100,
    invalid_device = 101,
};
enum class Kind { pageable, pinned, device, managed };
constexpr std::size_t memory = std::size_t{1} << 30;

inline std::string environment(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value ? value : otherwise;
}
inline int device_count() { return std::atoi(environment("FAKE_GPU_DEVICES", "2").c_str()); }

/// What such a list as "cuInit=100,cuMemcpy=700" has for this name; else 0.
inline int listed(const char* variable, const std::string& name) {
    const std::string all = "," + environment(variable, "");
    const auto at = all.find("," + name + "=");
    return at == std::string::npos ? 0 : std::atoi(all.c_str() + at + name.size() + 2);
}
inline int fault(const std::string& call) { return listed("FAKE_GPU_FAIL", call); }

struct Block {
    std::size_t bytes;
    Kind kind;
    int file;
    int device = -1, context = 0;
    bool ipc = true;
};
using Work = std::function<void()>;
/// Work waiting its turn; while a stream is captured, what is put in goes to the graph instead.
struct Graph {
    std::vector<Work> work;
    std::vector<struct Stream*> joined;  ///< besides the one that began it
};
struct Queue : std::deque<Work> {
    Graph* captured = nullptr;
    void push_back(Work work) {
        captured ? captured->work.push_back(std::move(work)) : deque::push_back(std::move(work));
    }
};
struct Stream {
    Queue pending;
    double declared = 0;  ///< seconds by FAKE_GPU_CLOCK
    void step() {
        if (pending.empty()) return;
        const Work work = std::move(pending.front());
        pending.pop_front();
        work();
    }
    void finish() {
        while (!pending.empty()) step();
    }
};

// Never destroyed: other libraries free memory when the process ends, perhaps later than this one.
inline auto& blocks = *new std::map<std::uintptr_t, Block>;
inline auto& default_stream = *new Stream;
inline std::set<int> peers;
inline auto& contexts =
    *new std::multiset<int>;  ///< the devices whose primary contexts are retained
inline int retained = 0;
inline thread_local int current = -1;
inline thread_local int current_context = 0;  ///< CUDA's (fake_cuda_memory.hpp)

inline int retain(int device) {
    contexts.insert(device);
    ++retained;
    return success;
}
inline int release(int device) {
    const auto found = contexts.find(device);
    if (found == contexts.end()) return invalid_context;
    contexts.erase(found);
    return success;
}

inline std::uintptr_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

inline std::pair<const std::uintptr_t, Block>* block_of(const void* address) {
    auto above = blocks.upper_bound(number(address));
    if (above == blocks.begin()) return nullptr;
    auto& found = *--above;
    return number(address) < found.first + found.second.bytes ? &found : nullptr;
}
inline Kind kind_of(const void* address) {
    const auto* block = block_of(address);
    return block ? block->second.kind : Kind::pageable;
}

inline int advise(const void* address, std::size_t bytes) {
    const auto* block = block_of(address);
    return block && block->second.kind == Kind::managed && block->second.bytes >= bytes
               ? success
               : invalid_value;
}

inline int allocate(void** address, std::size_t bytes, Kind kind) {
    if (current < 0) return invalid_context;
    if (bytes == 0) return invalid_value;
    if (bytes > memory) return out_of_memory;
    const int file = static_cast<int>(syscall(SYS_memfd_create, "fake gpu", 0));
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return out_of_memory;
    *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (*address == MAP_FAILED) return out_of_memory;
    blocks[number(*address)] = {bytes, kind, file, current, current_context};
    return success;
}
inline int release(void* address) {
    const auto found = blocks.find(number(address));
    if (found == blocks.end()) return invalid_value;
    default_stream.finish();  // as cuMemFree waits for what is under way
    munmap(address, found->second.bytes);
    close(found->second.file);
    blocks.erase(found);
    return success;
}

inline int copy(void* to, const void* from, std::size_t bytes) {
    if (current < 0) return invalid_context;
    const Kind target = kind_of(to), source = kind_of(from);
    if (target == Kind::device && source == Kind::pageable) {
        std::vector<char> staged(static_cast<const char*>(from),
                                 static_cast<const char*>(from) + bytes);
        default_stream.pending.push_back(
            [=, staged = std::move(staged)] { std::memcpy(to, staged.data(), bytes); });
    } else if (target == Kind::device && source == Kind::device) {
        default_stream.pending.push_back([=] { std::memcpy(to, from, bytes); });
    } else {
        default_stream.finish();
        std::memcpy(to, from, bytes);
    }
    return success;
}

inline Stream& stream_of(void* stream) {
    return stream ? *static_cast<Stream*>(stream) : default_stream;
}
inline int copy_async(void* to, const void* from, std::size_t bytes, void* stream) {
    if (current < 0) return invalid_context;
    stream_of(stream).pending.push_back([=] { std::memcpy(to, from, bytes); });
    return success;
}
inline int copy_batch(void** to, void** from, const std::size_t* bytes, std::size_t count,
                      void* stream) {
    for (std::size_t i = 0; i < count; ++i)
        if (const int code = copy_async(to[i], from[i], bytes[i], stream)) return code;
    return success;
}
inline int host_register(void* address, std::size_t bytes) {
    if (current < 0) return invalid_context;
    if (number(address) % 4096 != 0 || block_of(address)) return invalid_value;
    blocks[number(address)] = {bytes, Kind::pinned, -1, current, current_context};
    return success;
}
inline int host_unregister(void* address) {
    const auto* block = block_of(address);
    if (!block || block->second.file >= 0) return invalid_value;
    blocks.erase(number(address));
    return success;
}
inline int write_value(void* stream, void* to, std::uint32_t value) {
    stream_of(stream).pending.push_back([=] { *static_cast<volatile std::uint32_t*>(to) = value; });
    return success;
}
inline int wait_value(void* stream, void* from, std::uint32_t value) {
    stream_of(stream).pending.push_back([=] {
        while (static_cast<std::int32_t>(*static_cast<volatile std::uint32_t*>(from) - value) < 0) {
        }
    });
    return success;
}
/// Each look brings the work one step forward, as time does on a GPU.
inline int query(void* stream) {
    stream_of(stream).step();
    return stream_of(stream).pending.empty() ? success : not_ready;
}
inline int wait(void* stream) {
    stream_of(stream).finish();
    return success;
}

/// What a library puts into a stream: the real drivers have this call, too.
inline int host_function(void* stream, void (*call)(void*), void* data) {
    if (current < 0) return invalid_context;
    Stream& place = stream_of(stream);
    const double takes = 1e-6 * listed("FAKE_GPU_CLOCK", place.pending.captured ? "graph" : "call");
    place.pending.push_back([=, &place] {
        call(data);
        place.declared += takes;
    });
    return success;
}

/// A place in a stream, with the time at which it was reached.
struct Event {
    Stream* stream = nullptr;
    std::shared_ptr<double> time;
    Graph* captured = nullptr;  ///< it was recorded while this was captured
};
inline int record(void* event, void* stream) {
    if (current < 0) return invalid_context;
    auto& place = *static_cast<Event*>(event);
    place.stream = &stream_of(stream);
    place.time = std::make_shared<double>(-1);
    place.captured = place.stream->pending.captured;
    place.stream->pending.push_back([time = place.time, stream = place.stream] {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        *time = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) +
                stream->declared;
    });
    return success;
}
inline int event_query(void* event) {
    auto& place = *static_cast<Event*>(event);
    if (!place.time || *place.time >= 0) return success;
    place.stream->step();
    return *place.time >= 0 ? success : not_ready;
}
inline int event_wait(void* event) {
    while (event_query(event) == not_ready) {
    }
    return success;
}
/// A stream that waits for what is captured is captured with it.
inline int stream_wait_event(void* stream, void* event) {
    if (current < 0) return invalid_context;
    Stream& waiting = stream_of(stream);
    const auto& place = *static_cast<Event*>(event);
    if (place.captured) {
        if (waiting.pending.captured && waiting.pending.captured != place.captured)
            return invalid_value;
        if (!waiting.pending.captured) place.captured->joined.push_back(&waiting);
        waiting.pending.captured = place.captured;
    } else if (place.stream && place.stream != &waiting) {
        waiting.pending.push_back([time = place.time, from = place.stream] {
            while (*time < 0) from->step();
        });
    }
    return success;
}
inline int elapsed(float* milliseconds, void* earlier, void* later) {
    const auto &from = static_cast<Event*>(earlier)->time, &to = static_cast<Event*>(later)->time;
    if (!from || !to) return invalid_value;
    if (*from < 0 || *to < 0) return not_ready;
    *milliseconds = static_cast<float>(1e3 * (*to - *from));
    return success;
}

inline int capture_begin(void* stream, int mode) {
    if (!stream || stream_of(stream).pending.captured || mode != 2) return invalid_value;
    stream_of(stream).pending.captured = new Graph;
    return success;
}
inline int capture_end(void* stream, void** graph) {
    auto& pending = stream_of(stream).pending;
    if (!pending.captured) return invalid_value;
    for (Stream* joined : pending.captured->joined) joined->pending.captured = nullptr;
    pending.captured->joined.clear();
    *graph = std::exchange(pending.captured, nullptr);
    return success;
}
inline int instantiate(void** ready, void* graph) {
    *ready = new Graph(*static_cast<Graph*>(graph));
    return success;
}
inline int graph_launch(void* ready, void* stream) {
    if (current < 0) return invalid_context;
    for (const auto& work : static_cast<Graph*>(ready)->work)
        stream_of(stream).pending.push_back(work);
    return success;
}
inline int graph_destroy(void* graph) {
    delete static_cast<Graph*>(graph);
    return success;
}

/// Code objects are not run: a kernel of the same name runs on the CPU.
inline int load(void** module, const void* image) {
    if (current < 0) return invalid_context;
    static char loaded;
    *module = &loaded;
    return std::memcmp(image, "\177ELF", 4) == 0 ? success : invalid_image;
}
inline int function(void** function, const char* name) {
    static std::set<std::string> names;
    if (std::string(name).rfind("ws_", 0) != 0) return not_found;
    *function = const_cast<char*>(names.insert(name).first->c_str());
    return success;
}
inline int launch(void* function, unsigned blocks, void** arguments, void* stream) {
    if (current < 0) return invalid_context;
    // A launch takes copies of the arguments; only the code object knows how many there are.
    const std::string name = static_cast<const char*>(function);
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < wirespeed::cpu::argument_count(name); ++i)
        values.push_back(*static_cast<std::uint64_t*>(arguments[i]));
    stream_of(stream).pending.push_back([=]() mutable {
        std::vector<void*> pointers;
        for (auto& value : values) pointers.push_back(&value);
        wirespeed::cpu::run(name, {.blocks = std::min(blocks, 2u)}, pointers.data());
    });
    return success;
}

/// Of a device with room for four blocks at a time.
inline int launch_cooperative(void* function, unsigned blocks, void** arguments, void* stream) {
    return blocks > 4 ? too_large : launch(function, blocks, arguments, stream);
}

struct Handle {
    int process, file;
    std::size_t bytes;
};
inline int share(void* handle, const void* address) {
    const auto* block = block_of(address);
    if (!block || block->second.kind != Kind::device || !block->second.ipc) return invalid_value;
    const Handle content{getpid(), block->second.file, block->second.bytes};
    std::memcpy(handle, &content, sizeof content);
    return success;
}
inline int open(void** address, const void* handle) {
    Handle content;
    std::memcpy(&content, handle, sizeof content);
    if (content.process == getpid() || current < 0) return invalid_context;
    const std::string path =
        "/proc/" + std::to_string(content.process) + "/fd/" + std::to_string(content.file);
    const int file = ::open(path.c_str(), O_RDWR);
    if (file < 0) return invalid_value;
    *address = mmap(nullptr, content.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    blocks[number(*address)] = {content.bytes, Kind::device, file, current, current_context};
    return success;
}

inline int pci(char* text, int length, int device) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", 0xa0 + device);
    return success;
}
inline int by_pci(int* device, const char* text) {
    for (*device = 0; *device < device_count(); ++*device) {
        char known[32];
        pci(known, sizeof known, *device);
        if (strcasecmp(known, text) == 0) return success;
    }
    return invalid_value;
}
inline int enable_peer(int device) { return peers.insert(device).second ? success : peer_already; }

/// What the driver says of an address.
inline int pointer_attribute(void* value, int attribute, const void* address) {
    const auto* found = block_of(address);
    if (!found) return invalid_value;
    const Block& block = found->second;
    const auto put = [&](auto content) {
        std::memcpy(value, &content, sizeof content);
        return success;
    };
    switch (attribute) {
        case 1:
            return put(static_cast<std::uintptr_t>(block.context));
        case 2:
            return put(block.kind == Kind::pinned ? 1u : 2u);
        case 8:
            return put(static_cast<unsigned>(block.kind == Kind::managed));
        case 9:
            return put(block.device);
        case 10:
            return put(static_cast<int>(block.kind == Kind::device && block.ipc));
        case 15:
            return put(1);
        default:
            return invalid_value;
    }
}

}  // namespace fake

extern "C" int fake_contexts() { return static_cast<int>(fake::contexts.size()); }
extern "C" int fake_retained() { return fake::retained; }
extern "C" int fake_blocks() { return static_cast<int>(fake::blocks.size()); }

#define FAKE(call, ...) FAKE_OF(call, __VA_ARGS__)  // `call` may be a macro's word
#define FAKE_OF(call, parameters, ...)                        \
    extern "C" int call parameters {                          \
        if (const int code = fake::fault(#call)) return code; \
        __VA_ARGS__                                           \
    }
