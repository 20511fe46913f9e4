#include "devices/host/pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.hpp"
#include "core/helpers.hpp"

namespace wirespeed::host {

void* allocate_pages(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* address = nullptr;
    bytes = std::max<std::size_t>(bytes, 1);
    if (const int code = posix_memalign(&address, page, bytes))
        throw Error("posix_memalign", std::to_string(bytes) + " bytes", std::strerror(code));
    write_bytes(address, 0x5a, bytes);
    return address;
}

void release_pages(void* address) noexcept { std::free(address); }

}  // namespace wirespeed::host
