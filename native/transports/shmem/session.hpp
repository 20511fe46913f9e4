// This rank as one of NVSHMEM's processing elements.
#pragma once

#include <string>

#include "libraries/nvshmem.hpp"
#include "transports/transport.hpp"

namespace wirespeed::shmem {

/// Every rank makes one, and closes it, together: NVSHMEM's start and end are collective. A rank
/// that ends early does not close it.
class Session {
  public:
    /// Throws Unavailable or Error, the same on every rank.
    explicit Session(Context& context);
    void close() noexcept;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Nvshmem& calls() const { return calls_; }
    std::string version() const;

    /// Symmetric memory, at the same place of the heap on every rank. Throws Error on every rank.
    std::byte* allocate(std::size_t bytes);
    /// Every rank calls it.
    void release(void* address) noexcept;

  private:
    Context& context_;
    Library library_;
    Nvshmem calls_;
};

}  // namespace wirespeed::shmem
