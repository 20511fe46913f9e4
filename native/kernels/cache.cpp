#include "kernels/cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace wirespeed {
namespace {

namespace fs = std::filesystem;

/// FNV-1a, twice over the text with different starts: 32 hexadecimal digits.
std::string digest(const std::string& text) {
    std::string digits;
    for (std::uint64_t hash : {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull}) {
        for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3ull;
        char part[17];
        std::snprintf(part, sizeof part, "%016llx", static_cast<unsigned long long>(hash));
        digits += part;
    }
    return digits;
}

/// Empty where the user has no place for such files.
fs::path directory() {
    // The specification of XDG_CACHE_HOME has relative paths ignored.
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
        return fs::path(cache) / "wirespeed";
    if (const char* home = std::getenv("HOME"); home && *home == '/')
        return fs::path(home) / ".cache" / "wirespeed";
    return {};
}

bool write_all(int file, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = write(file, text.data() + done, text.size() - done);
        if (written <= 0) return false;
        done += static_cast<std::size_t>(written);
    }
    return true;
}

}  // namespace

std::string load_cached(const std::string& key) {
    const fs::path folder = directory();
    if (folder.empty()) return {};
    std::ifstream file(folder / ("kernels-" + digest(key)), std::ios::binary);
    std::string sum, code;
    if (!std::getline(file, sum)) return {};
    code.assign(std::istreambuf_iterator<char>(file), {});
    return digest(code) == sum ? code : std::string();
}

void store_cached(const std::string& key, const std::string& code) noexcept try {
    const fs::path folder = directory();
    if (folder.empty()) return;
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    std::string name = (folder / "new-XXXXXX").string();
    const int file = mkstemp(name.data());
    if (file < 0) return;
    const bool whole = write_all(file, digest(code) + "\n" + code);
    // Ranks that start together all store the same: each renames a whole file into place.
    if (close(file) != 0 || !whole ||
        std::rename(name.c_str(), (folder / ("kernels-" + digest(key))).c_str()) != 0)
        unlink(name.c_str());
} catch (...) {
}

}  // namespace wirespeed
