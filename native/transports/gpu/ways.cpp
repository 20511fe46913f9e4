#include "transports/gpu/ways.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/pace.hpp"

namespace wirespeed {
namespace {

constexpr std::uint32_t warp = 32;
/// Seconds of a round: from where on messages fill the wire, and a brief try is long enough.
constexpr double wire_fills = 20e-6, settles_itself = 10e-3;

}  // namespace

void Ways::choose(PlayProgram& program, const std::vector<Method>& ways, std::vector<u64> numbers) {
    if (const int before = chosen_before(numbers); before >= 0)
        return program.use(chosen_[static_cast<std::size_t>(before)].second);
    const Method way = fastest(program, ways);
    chosen_.emplace_back(std::move(numbers), way);
    program.use(way);
}

/// Which earlier choice was for this program, on every rank; -1 none.
int Ways::chosen_before(const std::vector<u64>& numbers) const {
    const auto all = exchange(context_.control, [&] {
        const auto found = std::ranges::find(chosen_, numbers, &Chosen::first);
        return found == chosen_.end() ? -1 : static_cast<int>(found - chosen_.begin());
    });
    return std::ranges::all_of(all, [&](int each) { return each == all.front(); }) ? all.front()
                                                                                   : -1;
}

std::uint32_t Ways::whole_warps(std::size_t threads) const {
    const std::size_t rounded = std::max<std::size_t>((threads + warp - 1) / warp * warp, warp);
    return static_cast<std::uint32_t>(std::min<std::size_t>(rounded, facts_.most_threads));
}

std::vector<Method> Ways::candidates(std::size_t bytes, std::size_t packets, bool near,
                                     bool guarded) const {
    std::vector<Method> ways;
    if (near) {
        for (const std::size_t each : {1, 2, 4})
            if (const Method way{ws_packets, 1, whole_warps(packets / each)};
                ways.empty() || ways.back().threads != way.threads)
                ways.push_back(way);
    }
    for (const std::uint32_t blocks : {1, 4, 8, 16, 32, 64, 132, 256}) {
        const bool alone = ways.empty() && blocks == 1;
        if (blocks > blocks_ || (bytes / blocks < 1024 && !alone)) continue;
        for (const std::uint32_t threads : {128u, 256u, 512u})
            if (const Method way{ws_stores, blocks, whole_warps(threads)};
                (bytes / blocks / threads <= 256 || threads == 512) &&
                (ways.empty() || ways.back().threads != way.threads ||
                 ways.back().blocks != blocks))
                ways.push_back(way);
        if (bytes / blocks < 16384 || guarded) continue;
        ways.push_back({ws_pull, blocks, whole_warps(512)});
        if (!facts_.has_bulk || blocks < 16) continue;
        ways.push_back({ws_bulk, blocks, 128});
        ways.push_back({ws_bulk_pull, blocks, 128});
    }
    return asked_for(std::move(ways), near, guarded);
}

/// For tests and studies: options name the way.
std::vector<Method> Ways::asked_for(std::vector<Method> ways, bool near, bool guarded) const {
    const std::string wanted = context_.option("method", "");
    if (wanted.empty()) return ways;
    for (const WsMethod way : {ws_packets, ws_stores, ws_bulk, ws_pull, ws_bulk_pull}) {
        Method method{way,
                      static_cast<std::uint32_t>(context_.number("blocks", 32, 1, most_blocks)),
                      whole_warps(context_.number("threads", 512, 1, 1024))};
        if (method.text() != wanted) continue;
        if ((way == ws_packets && !near) || (way >= ws_pull && guarded))
            return ways;  // not possible for this program
        method.blocks = way == ws_packets ? 1 : std::clamp(method.blocks, 1u, blocks_);
        return {method};
    }
    throw Error("gpu: method is packets, stores, bulk, pull or bulk-pull, not " + wanted);
}

Method Ways::fastest(PlayProgram& program, const std::vector<Method>& ways) {
    if (ways.size() == 1) return ways.front();
    Method best = ways.front();
    double least = try_way(program, best);
    std::vector<Tried> tried{{least, best}};
    const auto race = [&](const Method& way) {
        const double seconds = try_way(program, way);
        tried.emplace_back(seconds, way);
        if (seconds >= least) return;
        best = way;
        least = seconds;
    };
    for (std::size_t i = 1; i < ways.size(); ++i) race(ways[i]);
    if (least > wire_fills && least < settles_itself) return settled(program, std::move(tried));
    // One block's way to memory and to the wire depends on where on the chip it runs.
    constexpr std::uint32_t places = 8;
    const Method packets = best;
    if (best.way == ws_packets && blocks_ >= 2 * places)
        for (std::uint32_t i = 1; i < places; ++i) {
            Method there = packets;
            there.place = i * blocks_ / places;
            race(there);
        }
    return best;
}

/// Of the fastest few, the one that stays fast.
Method Ways::settled(PlayProgram& program, std::vector<Tried> tried) {
    constexpr std::size_t finalists = 4;
    std::stable_sort(tried.begin(), tried.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    tried.resize(std::min(tried.size(), finalists));
    Method best = tried.front().second;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [brief, way] : tried) {
        program.use(way);
        const double seconds = settled_pace(context_.control, program);
        if (seconds >= least) continue;
        best = way;
        least = seconds;
    }
    return best;
}

double Ways::try_way(PlayProgram& program, const Method& way) {
    program.use(way);
    return pace(context_.control, program);
}

}  // namespace wirespeed
