// A piece of this rank's memory that peers put into, and theirs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "transports/ucx/endpoints.hpp"

namespace wirespeed::ucx {

class RegisteredRegion {
  public:
    /// Every rank calls it, with as many bytes. Throws Error on every rank where one cannot map it.
    RegisteredRegion(Endpoints& endpoints, Control& control, void* address, std::size_t bytes,
                     Ucx::MemoryType type);
    /// This rank maps it no longer; until then UCX knows the memory.
    void close() noexcept;

    /// Where `offset` lies at the peer, which is connected to.
    std::uint64_t place(int peer, std::size_t offset) const;
    Ucx::RemoteKey key(int peer);

  private:
    Endpoints& ucx_;
    Ucx::MemoryHandle mapped_ = nullptr;
    std::vector<std::string> packed_;  ///< by rank: the region's address, then its key
    std::map<int, Ucx::RemoteKey> keys_;
};

}  // namespace wirespeed::ucx
