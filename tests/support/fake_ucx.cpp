// For tests alone: a libucp whose one rank puts to itself. A put arrives later: one with each look
// at the progress, the latest first, as far as no fence is in between; a flush lets all arrive.
// What relies on any other order is counted, and does no harm. Puts of 8 bytes are signals.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "libraries/ucx.hpp"

namespace {

using wirespeed::Ucx;

struct Put {
    std::vector<unsigned char> content;
    void* to;
    unsigned fences;  ///< before it

    bool is_signal() const { return content.size() == sizeof(std::uint64_t); }
    std::uint64_t value() const {
        std::uint64_t value = 0;
        std::memcpy(&value, content.data(), sizeof value);
        return value;
    }
};

std::vector<Put> flying;
unsigned fences = 0;
int overtaken = 0, signalled_early = 0, signals = 0, worker_flushes = 0;
char something;

void arrive(const Put& put) {
    if (put.is_signal()) {
        std::uint64_t before = 0;
        std::memcpy(&before, put.to, sizeof before);
        if (put.value() <= before) {
            ++overtaken;
            return;
        }
    }
    std::memcpy(put.to, put.content.data(), put.content.size());
}

bool one_arrives() {
    const auto oldest = std::ranges::min_element(flying, {}, &Put::fences);
    if (oldest == flying.end()) return false;
    const unsigned group = oldest->fences;
    const auto latest = std::find_if(flying.rbegin(), flying.rend(),
                                     [=](const Put& put) { return put.fences == group; });
    arrive(*latest);
    flying.erase(std::next(latest).base());
    return true;
}

Ucx::Request all_arrive() {
    while (one_arrives()) {
    }
    return nullptr;
}

}  // namespace

extern "C" {

int fake_ucx_overtaken() { return overtaken; }
int fake_ucx_signalled_early() { return signalled_early; }
int fake_ucx_signals() { return signals; }
int fake_ucx_worker_flushes() { return worker_flushes; }

Ucx::Request ucp_put_nbx(Ucx::Endpoint, const void* from, std::size_t bytes, std::uint64_t to,
                         Ucx::RemoteKey, const Ucx::RequestParams*) {
    const auto* const first = static_cast<const unsigned char*>(from);
    flying.push_back({{first, first + bytes}, reinterpret_cast<void*>(to), fences});
    if (!flying.back().is_signal()) return nullptr;
    ++signals;
    signalled_early += !std::ranges::all_of(flying, &Put::is_signal);
    return nullptr;
}
Ucx::Status ucp_worker_fence(Ucx::Worker) {
    ++fences;
    return Ucx::success;
}
Ucx::Request ucp_ep_flush_nbx(Ucx::Endpoint, const Ucx::RequestParams*) { return all_arrive(); }
Ucx::Request ucp_worker_flush_nbx(Ucx::Worker, const Ucx::RequestParams*) {
    ++worker_flushes;
    return all_arrive();
}
unsigned ucp_worker_progress(Ucx::Worker) { return one_arrives(); }

const char* ucp_get_version_string() { return "1.99.0"; }
const char* ucs_status_string(Ucx::Status) { return "fake error"; }
Ucx::Status ucp_init_version(unsigned, unsigned, const Ucx::ContextParams*, const void*,
                             Ucx::Context* context) {
    *context = &something;
    return Ucx::success;
}
void ucp_cleanup(Ucx::Context) {}
Ucx::Status ucp_context_query(Ucx::Context, Ucx::ContextAttributes* attributes) {
    attributes->memory_types = 1;
    return Ucx::success;
}
Ucx::Status ucp_worker_create(Ucx::Context, const Ucx::WorkerParams*, Ucx::Worker* worker) {
    *worker = &something;
    return Ucx::success;
}
void ucp_worker_destroy(Ucx::Worker) {}
Ucx::Status ucp_worker_get_address(Ucx::Worker, void** address, std::size_t* bytes) {
    *address = &something;
    *bytes = 1;
    return Ucx::success;
}
void ucp_worker_release_address(Ucx::Worker, void*) {}
Ucx::Status ucp_ep_create(Ucx::Worker, const Ucx::EndpointParams*, Ucx::Endpoint* endpoint) {
    *endpoint = &something;
    return Ucx::success;
}
#define DOES_NOTHING(result, call, ...) \
    result call(__VA_ARGS__) { return result(); }
DOES_NOTHING(void, ucp_ep_print_info, Ucx::Endpoint, std::FILE*)
DOES_NOTHING(Ucx::Request, ucp_tag_send_nbx, Ucx::Endpoint, const void*, std::size_t, Ucx::Tag,
             const Ucx::RequestParams*)
DOES_NOTHING(Ucx::Request, ucp_tag_recv_nbx, Ucx::Worker, void*, std::size_t, Ucx::Tag, Ucx::Tag,
             const Ucx::RequestParams*)
DOES_NOTHING(Ucx::Request, ucp_get_nbx, Ucx::Endpoint, void*, std::size_t, std::uint64_t,
             Ucx::RemoteKey, const Ucx::RequestParams*)
DOES_NOTHING(Ucx::Request, ucp_atomic_op_nbx, Ucx::Endpoint, Ucx::Atomic, const void*, std::size_t,
             std::uint64_t, Ucx::RemoteKey, const Ucx::RequestParams*)
Ucx::Status ucp_request_check_status(Ucx::Request) { return Ucx::success; }
void ucp_request_free(Ucx::Request) {}
Ucx::Status ucp_mem_map(Ucx::Context, const Ucx::MapParams*, Ucx::MemoryHandle* memory) {
    *memory = &something;
    return Ucx::success;
}
Ucx::Status ucp_mem_unmap(Ucx::Context, Ucx::MemoryHandle) { return Ucx::success; }
Ucx::Status ucp_rkey_pack(Ucx::Context, Ucx::MemoryHandle, void** key, std::size_t* bytes) {
    *key = &something;
    *bytes = 1;
    return Ucx::success;
}
void ucp_rkey_buffer_release(void*) {}
Ucx::Status ucp_ep_rkey_unpack(Ucx::Endpoint, const void*, Ucx::RemoteKey* key) {
    *key = &something;
    return Ucx::success;
}
void ucp_rkey_destroy(Ucx::RemoteKey) {}

}  // extern "C"
