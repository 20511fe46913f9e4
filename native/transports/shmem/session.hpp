// This rank as one of NVSHMEM's processing elements.
#pragma once

#include <string>

#include "libraries/nvshmem.hpp"
#include "transports/transport.hpp"

namespace wirespeed::shmem {

/// Every rank makes one, and gives it up, together: NVSHMEM's start and end are collective.
class Session {
  public:
    /// Throws Unavailable or Error, the same on every rank.
    explicit Session(Context& context);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Nvshmem& calls() const { return calls_; }
    std::string version() const;

    /// Something failed on this rank: it must not wait for the others at the end.
    void abandon() { abandoned_ = true; }
    bool abandoned() const { return abandoned_; }

    /// Symmetric memory, at the same place of the heap on every rank. Throws Error on every rank.
    std::byte* allocate(std::size_t bytes);
    void release(void* address) noexcept;

  private:
    Context& context_;
    Library library_;
    Nvshmem calls_;
    bool abandoned_ = false;
};

}  // namespace wirespeed::shmem
