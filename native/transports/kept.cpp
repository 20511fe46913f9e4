#include "transports/kept.hpp"

namespace wirespeed {

std::unique_ptr<Kept>& kept() {
    static auto& one = *new std::unique_ptr<Kept>;
    return one;
}

void close_kept(Page& page) {
    if (const std::unique_ptr<Kept> ending = std::move(kept())) ending->close(page);
}

}  // namespace wirespeed
