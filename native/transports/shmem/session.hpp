// This rank as one of NVSHMEM's processing elements.
#pragma once

#include <string>

#include "libraries/nvshmem.hpp"
#include "transports/shmem/stream_calls.hpp"
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

    // As SymmetricTransport takes them.
    void* allocate(std::size_t bytes) { return calls_.allocate(bytes); }
    void release(void* address) { calls_.release(address); }
    using Calls = StreamCalls;
    Calls puts(Context& context) const { return {calls_, context.device, context.page}; }
    std::string describe() const;
    static constexpr Memory memory = Memory::device;
    static constexpr const char* only = "NVSHMEM moves device memory and no other";
    static constexpr const char *allocate_name = "nvshmem_malloc", *release_name = "nvshmem_free";
    static constexpr const char* no_room =
        "no room in the symmetric heap (NVSHMEM_SYMMETRIC_SIZE "
        "or NVSHMEM_MAX_MEMORY_PER_GPU sets its size)";

  private:
    Context& context_;
    Library library_;
    Nvshmem calls_;
};

}  // namespace wirespeed::shmem
