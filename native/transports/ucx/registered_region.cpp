#include "transports/ucx/registered_region.hpp"

#include <cstring>
#include <utility>

#include "transports/local/exchange.hpp"

namespace wirespeed::ucx {

RegisteredRegion::RegisteredRegion(Endpoints& endpoints, Control& control, void* address,
                                   std::size_t bytes, Ucx::MemoryType type)
    : ucx_(endpoints) {
    const Ucx& calls = endpoints.calls();
    std::string mine(reinterpret_cast<const char*>(&address), sizeof address);
    try {
        exchange(control, [&] {
            using Params = Ucx::MapParams;
            const Params params{
                .mask = Params::has_address | Params::has_bytes | Params::has_memory_type,
                .address = address,
                .bytes = bytes,
                .memory_type = type};
            endpoints.check(calls.map(endpoints.context(), &params, &mapped_), "ucp_mem_map",
                            std::to_string(bytes) + " bytes");
            void* key = nullptr;
            std::size_t size = 0;
            endpoints.check(calls.key_pack(endpoints.context(), mapped_, &key, &size),
                            "ucp_rkey_pack");
            mine.append(static_cast<const char*>(key), size);
            calls.key_release(key);
            return true;
        });
        packed_ = gather(control, mine);
    } catch (...) {
        close();
        throw;
    }
}

void RegisteredRegion::close() noexcept {
    for (const auto& [peer, key] : keys_) ucx_.calls().key_destroy(key);
    keys_.clear();
    if (mapped_) ucx_.calls().unmap(ucx_.context(), std::exchange(mapped_, nullptr));
}

std::uint64_t RegisteredRegion::place(int peer, std::size_t offset) const {
    std::uint64_t begin = 0;
    std::memcpy(&begin, packed_.at(static_cast<std::size_t>(peer)).data(), sizeof begin);
    return begin + offset;
}

Ucx::RemoteKey RegisteredRegion::key(int peer) {
    if (const auto found = keys_.find(peer); found != keys_.end()) return found->second;
    const char* const packed = packed_.at(static_cast<std::size_t>(peer)).data();
    Ucx::RemoteKey made = nullptr;
    ucx_.check(ucx_.calls().key_unpack(ucx_.to(peer), packed + sizeof(std::uint64_t), &made),
               "ucp_ep_rkey_unpack", "rank " + std::to_string(peer));
    return keys_.emplace(peer, made).first->second;
}

}  // namespace wirespeed::ucx
