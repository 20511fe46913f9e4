#include "transports/ccl/channels.hpp"

#include <algorithm>
#include <regex>
#include <set>

#include "core/json.hpp"

namespace wirespeed::ccl {
namespace {

struct Line {
    int from, to;
    std::string via;
    bool collective;
};

/// "Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM/read", with other words before and behind, and for
/// networks "[send]" before "via". The number behind the slash is 0 for collectives; not every kind
/// of connection has one. A network's name may have blanks: "NET/AWS Libfabric/0/GDRDMA".
std::vector<Line> lines_in(std::string_view log) {
    static const std::regex pattern(
        R"((?:Channel|Ring) \d+(?:/(\d+))? : (\d+)\[[^\]]*\] -> (\d+)\[[^\]]*\].* via (NET/.+?/\d\S*|\S+))");
    std::vector<Line> lines;
    while (!log.empty()) {
        const auto end = std::min(log.find('\n'), log.size());
        std::cmatch found;
        // Numbers of more than nine digits are no ranks: what else the line may be, it is no
        // channel's.
        if (std::regex_search(log.data(), log.data() + end, found, pattern) &&
            found.length(2) < 10 && found.length(3) < 10)
            lines.push_back(
                {std::stoi(found[2]), std::stoi(found[3]), found[4].str(), found[1] == "0"});
        log.remove_prefix(std::min(end + 1, log.size()));
    }
    return lines;
}

}  // namespace

std::vector<Channels> channels_in(std::string_view log) {
    const std::vector<Line> lines = lines_in(log);
    const bool told_apart =
        std::any_of(lines.begin(), lines.end(), [](const Line& line) { return !line.collective; });
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
               ", \"via\": " + quoted(each.via) + ", \"count\": " + std::to_string(each.count) +
               "}";
    }
    std::string via;
    for (const auto& kind : kinds) via += (via.empty() ? "" : ", ") + kind;
    if (via.empty()) via = "unknown (the log names no channel)";
    std::string named;
    for (const auto& line : networks) named += (named.empty() ? "" : ", ") + quoted(line);
    return "\"via\": " + quoted(via) + ", \"channels\": [" + all + "], \"networks\": [" + named +
           "]";
}

}  // namespace wirespeed::ccl
