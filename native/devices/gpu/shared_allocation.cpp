#include "devices/gpu/shared_allocation.hpp"

#include <unistd.h>

#include <cstring>
#include <random>

#include "core/error.hpp"

namespace wirespeed::gpu {

static_assert(sizeof(SharedAllocation) <= sizeof(ShareHandle));

ShareHandle pack(const SharedAllocation& shared) {
    ShareHandle handle;
    std::memcpy(handle.bytes.data(), &shared, sizeof shared);
    return handle;
}

SharedAllocation unpack(const ShareHandle& handle, const std::string& kind) {
    SharedAllocation shared;
    std::memcpy(&shared, handle.bytes.data(), sizeof shared);
    if (std::strncmp(shared.kind, kind.c_str(), sizeof shared.kind) != 0)
        throw Error("the handle to open is not one of a " + kind + " device");
    return shared;
}

std::uint64_t this_process() {
    static const std::uint64_t random = std::random_device()();
    return random << 32 | static_cast<std::uint32_t>(getpid());
}

}  // namespace wirespeed::gpu
