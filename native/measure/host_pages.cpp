#include "measure/host_pages.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

namespace wirespeed {
namespace {

constexpr std::size_t head = offsetof(PageLayout, frames);

std::uint64_t word_at(const std::array<char, head>& page, std::size_t place) {
    std::uint64_t word;
    std::memcpy(&word, page.data() + place, sizeof word);
    return word;
}

}  // namespace

double HostPages::quiet(double still, double limit) {
    if (still < last_look_) last_look_ = -1;
    if (last_look_ < 0 ? still >= limit / 4 : still >= last_look_ + limit) {
        if (moved() || last_look_ < 0) moved_at_ = still;
        last_look_ = still;
    }
    return last_look_ < 0 ? 0 : still - moved_at_;
}

/// Has a rank got anywhere since the last look?
bool HostPages::moved() {
    std::uint64_t progress = 0;
    seen_ = 0;
    // Ranks that end remove their pages, and the last one the folder.
    std::error_code ended;
    for (std::filesystem::directory_iterator file(folder_, ended), last; !ended && file != last;
         file.increment(ended)) {
        std::array<char, head> page;
        if (file->path().extension() != ".page" ||
            !std::ifstream(file->path(), std::ios::binary).read(page.data(), page.size()) ||
            word_at(page, offsetof(PageLayout, magic)) != PageLayout::magic_value)
            continue;
        ++seen_;
        progress += word_at(page, offsetof(PageLayout, iteration)) +
                    word_at(page, offsetof(PageLayout, stages));
    }
    return std::exchange(progress_, progress) != progress;
}

}  // namespace wirespeed
