#include "devices/emulated/declared.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include "core/error.hpp"

namespace wirespeed::emulated {
namespace {

constexpr int most_devices = 1024;

Declared parse(const std::string& text) {
    Declared result;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        if (word.empty()) continue;
        const auto equals = word.find('=');
        const std::string key = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        const bool good = !value.empty() && *end == '\0' && number >= 0;
        if (good && key == "count" && number >= 1 && number <= most_devices)
            result.count = static_cast<int>(number);
        else if (good && key == "slow")
            result.slow = static_cast<int>(number);
        else if (good && key == "h2d")
            result.h2d = number;
        else if (good && key == "d2h")
            result.d2h = number;
        else if (good && key == "d2d")
            result.d2d = number;
        else if (good && key == "peer")
            result.peer = number;
        else if (good && key == "latency")
            result.latency = number;
        else if (good && key == "work")
            result.work = number;
        else if (good && key == "values")
            result.values = number != 0;
        else if (good && key == "blocks" && number >= 1 && number <= 256)
            result.blocks = static_cast<unsigned>(number);
        else if (good && key == "threads" && number >= 1 && number <= 512)
            result.threads = static_cast<unsigned>(number);
        else if (good && key == "seed" && number <= 1e9)
            result.seed = static_cast<unsigned>(number);
        else if (!value.empty() && key == "launches")
            result.launches = value;
        else
            throw Error("WIRESPEED_EMULATED: '" + word +
                        "' is not count, slow, h2d, d2h, d2d, peer, latency, work, values, blocks, "
                        "threads or "
                        "seed = a positive number, or launches = a file");
    }
    return result;
}

}  // namespace

double Declared::seconds(Direction direction, std::size_t bytes) const {
    double rate = 0;
    switch (direction) {
        case Direction::host_to_device:
            rate = h2d;
            break;
        case Direction::device_to_host:
            rate = d2h;
            break;
        case Direction::on_device:
            rate = d2d;
            break;
        case Direction::peer:
            rate = peer;
            break;
        case Direction::host:
            return 0;
    }
    return latency + (rate > 0 ? static_cast<double>(bytes) / rate : 0);
}

const Declared& declared() {
    static const Declared result = [] {
        const char* text = std::getenv("WIRESPEED_EMULATED");
        return parse(text ? text : "");
    }();
    return result;
}

namespace {
std::atomic<int> usual_count = 2;
}  // namespace

int device_count() { return declared().count > 0 ? declared().count : usual_count.load(); }
void set_usual_count(int count) { usual_count = std::clamp(count, 1, most_devices); }

void tell_launch(std::string_view kernel) {
    static std::mutex mutex;
    static std::set<std::string, std::less<>> told;
    if (declared().launches.empty()) return;
    const std::scoped_lock lock(mutex);
    if (told.contains(kernel)) return;
    told.emplace(kernel);
    std::ofstream(declared().launches, std::ios::app) << std::string(kernel) + "\n";
}

}  // namespace wirespeed::emulated
