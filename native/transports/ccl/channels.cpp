#include "transports/ccl/channels.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "core/json.hpp"

namespace wirespeed::ccl {
namespace {

struct ChannelLine {
    int from, to;
    std::string via;
    bool collective;
};

/// Reads a line from its beginning; after a step that failed, all others fail.
class LineReader {
  public:
    explicit LineReader(std::string_view text) : rest_(text) {}

    bool skip(std::string_view word) {
        return step(rest_.substr(0, word.size()) == word, word.size());
    }
    bool skip_past(std::string_view word) {
        const auto at = rest_.find(word);
        return step(at != rest_.npos, at + word.size());
    }
    /// Of one to nine digits: a longer one is no rank.
    std::optional<int> number() {
        const auto digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
        const std::string text(rest_.substr(0, digits));
        if (!step(digits > 0 && digits < 10, digits)) return std::nullopt;
        return std::stoi(text);
    }
    std::string_view rest() const { return rest_; }

  private:
    bool step(bool right, std::size_t length) {
        rest_ = right ? rest_.substr(length) : std::string_view{};
        return right;
    }

    std::string_view rest_;
};

/// The network's name with its number, or the first word.
std::string via_of(std::string_view text) {
    auto end = text.find_first_of(" \t\r");
    if (text.substr(0, 4) == "NET/") {
        for (auto slash = text.find('/', 5); slash != text.npos;
             slash = text.find('/', slash + 1)) {
            if (slash + 1 == text.size() || text[slash + 1] < '0' || text[slash + 1] > '9')
                continue;
            end = text.find_first_of(" \t\r", slash);
            break;
        }
    }
    return std::string(text.substr(0, end));
}

/// "Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM/read", with other words before and behind, and for
/// networks "[send]" before "via". The number behind the slash is 0 for collectives; not every kind
/// of connection has one. A network's name may have blanks: "NET/AWS Libfabric/0/GDRDMA".
std::optional<ChannelLine> line_in(std::string_view text) {
    LineReader words(text);
    if (!words.skip_past("Channel ") && !(words = LineReader(text)).skip_past("Ring "))
        return std::nullopt;
    if (!words.number()) return std::nullopt;
    std::optional<int> kind;
    if (words.rest().substr(0, 1) == "/") {
        words.skip("/");
        if (!(kind = words.number())) return std::nullopt;
    }
    if (!words.skip(" : ")) return std::nullopt;
    const auto from = words.number();
    if (!from || !words.skip("[") || !words.skip_past("] -> ")) return std::nullopt;
    const auto to = words.number();
    if (!to || !words.skip("[") || !words.skip_past("]")) return std::nullopt;
    const auto via = words.rest().rfind(" via ");
    if (via == std::string_view::npos) return std::nullopt;
    std::string name = via_of(words.rest().substr(via + 5));
    if (name.empty()) return std::nullopt;
    return ChannelLine{*from, *to, std::move(name), kind == 0};
}

std::vector<ChannelLine> lines_in(std::string_view log) {
    std::vector<ChannelLine> lines;
    while (!log.empty()) {
        const auto end = std::min(log.find('\n'), log.size());
        if (auto line = line_in(log.substr(0, end))) lines.push_back(std::move(*line));
        log.remove_prefix(std::min(end + 1, log.size()));
    }
    return lines;
}

}  // namespace

std::vector<Channels> channels_in(std::string_view log) {
    const std::vector<ChannelLine> lines = lines_in(log);
    const bool told_apart = std::any_of(lines.begin(), lines.end(),
                                        [](const ChannelLine& line) { return !line.collective; });
    std::vector<Channels> channels;
    for (const auto& line : lines) {
        if (told_apart && line.collective) continue;
        const auto same =
            std::find_if(channels.begin(), channels.end(), [&](const Channels& known) {
                return known.from == line.from && known.to == line.to && known.via == line.via;
            });
        if (same == channels.end())
            channels.push_back({line.from, line.to, line.via, 1});
        else
            ++same->count;
    }
    return channels;
}

std::vector<std::string> networks_in(std::string_view log) {
    std::vector<std::string> lines;
    while (!log.empty()) {
        const auto end = std::min(log.find('\n'), log.size());
        const std::string_view line = log.substr(0, end);
        const auto begin = line.find("NET/");
        const bool numbers = line.find(" : Using [") != line.npos ||
                             line.find(" : Made virtual device [") != line.npos;
        if (begin != line.npos && numbers) lines.emplace_back(line.substr(begin));
        log.remove_prefix(std::min(end + 1, log.size()));
    }
    return lines;
}

std::string as_json(const std::vector<Channels>& channels,
                    const std::vector<std::string>& networks) {
    std::set<std::string> kinds;
    std::string all;
    for (const auto& each : channels) {
        kinds.insert(each.via);
        if (!all.empty()) all += ", ";
        all += "{\"from\": " + std::to_string(each.from) + ", \"to\": " + std::to_string(each.to) +
               ", \"via\": " + json_text(each.via) + ", \"count\": " + std::to_string(each.count) +
               "}";
    }
    std::string via;
    for (const auto& kind : kinds) via += (via.empty() ? "" : ", ") + kind;
    if (via.empty()) via = "unknown (the log names no channel)";
    std::string named;
    for (const auto& line : networks) named += (named.empty() ? "" : ", ") + json_text(line);
    return "\"via\": " + json_text(via) + ", \"channels\": [" + all + "], \"networks\": [" + named +
           "]";
}

}  // namespace wirespeed::ccl
