#include "transports/gpu/protocols.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "transports/lists.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/trial_timing.hpp"

namespace wirespeed {
namespace {

constexpr std::uint32_t warp = 32;
/// Seconds of an iteration: above the one messages fill the link, above the other a brief trial is
/// enough.
constexpr double fills_link = 20e-6, brief_is_enough = 10e-3;
/// Bytes that one block moves at most where others could help it: few blocks fill no link, and a
/// trial of them takes as long as all other trials together.
constexpr std::size_t most_of_a_block = 16 << 20;
/// Packets of one LL message: with fewer, one more block costs more than it moves.
constexpr std::size_t least_of_a_block = 64;
/// From so many bytes on, the fastest few stay the fastest for longer messages.
constexpr std::size_t nothing_new = 32 << 20;

}  // namespace

void Protocols::choose(PersistentProgram& program, std::vector<Tuning> tunings, std::size_t bytes,
                       std::vector<u64> numbers) {
    if (const int before = chosen_before(numbers); before >= 0)
        return program.use(chosen_[static_cast<std::size_t>(before)].second);
    const Tuning tuning = fastest(program, tunings);
    fast_bytes_ = bytes;
    chosen_.emplace_back(std::move(numbers), tuning);
    program.use(tuning);
}

/// Which earlier choice was for this program, on every rank; -1 none.
int Protocols::chosen_before(const std::vector<u64>& numbers) const {
    const auto all = exchange(context_.control, [&] {
        const auto found = std::ranges::find(chosen_, numbers, &Chosen::first);
        return found == chosen_.end() ? -1 : static_cast<int>(found - chosen_.begin());
    });
    return std::ranges::all_of(all, [&](int each) { return each == all.front(); }) ? all.front()
                                                                                   : -1;
}

std::uint32_t Protocols::whole_warps(std::size_t threads) const {
    const std::size_t rounded = std::max<std::size_t>((threads + warp - 1) / warp * warp, warp);
    return static_cast<std::uint32_t>(std::min<std::size_t>(rounded, facts_.most_threads));
}

std::vector<Tuning> Protocols::candidates(std::size_t bytes, std::size_t packets,
                                          const OpList& op_list) const {
    Choices choices = op_list.choices();
    if (op_list.lists)
        choices.most_blocks = std::min(choices.most_blocks, multiprocessors(context_, blocks_));
    std::vector<Tuning> tunings;
    const auto add = [&](const Tuning& tuning) {
        if (choices.allow(tuning)) tunings.push_back(tuning);
    };
    const std::size_t lanes = packets * std::max(choices.exchange_peers, 1u);
    for (const std::size_t each : {1, 2, 4})
        if (const Tuning tuning{ws_ll, 1, whole_warps(lanes / each)};
            tunings.empty() || tunings.back().threads != tuning.threads)
            add(tuning);
    // Several messages of equal length have lanes of their own.
    if (op_list.alike && !choices.exchange_peers)
        for (const std::size_t messages : {4, 8})
            if (!tunings.empty() && tunings.back().threads < facts_.most_threads)
                add({ws_ll, 1, whole_warps(packets * messages)});
    // Short messages leave a second warp idle, and its kernel may still be the faster one; a pair's
    // single packet has a kernel of one lane.
    if ((packets > 1 || choices.exchange_peers) && lanes <= warp)
        add({ws_ll, 1, whole_warps(2 * warp)});
    for (const std::uint32_t blocks : {2u, 4u, 8u, 16u, 32u, 64u, 128u})
        if (blocks <= blocks_ &&
            lanes / blocks >= std::min<std::size_t>(least_of_a_block, facts_.most_threads))
            add({ws_ll, blocks, whole_warps((lanes + blocks - 1) / blocks)});
    constexpr std::uint32_t counts[] = {1, 4, 8, 16, 32, 64, 132, 256};
    const std::uint32_t most = *std::prev(std::ranges::upper_bound(counts, blocks_));
    for (const std::uint32_t blocks : counts) {
        const bool alone = tunings.empty() && blocks == 1;
        if (blocks > blocks_ || (bytes / blocks < 1024 && !alone)) continue;
        if (bytes / blocks > most_of_a_block && blocks < most) continue;
        for (const std::uint32_t threads : {128u, 256u, 512u})
            if (const Tuning tuning{ws_stores, blocks, whole_warps(threads)};
                (bytes / blocks / threads <= 256 || threads == 512) &&
                (tunings.empty() || tunings.back().threads != tuning.threads ||
                 tunings.back().blocks != blocks))
                add(tuning);
        if (bytes / blocks < choices.least_pulled) continue;
        add({ws_pull, blocks, whole_warps(512)});
        if (!facts_.has_tma || blocks < 16) continue;
        add({ws_tma, blocks, 128});
        add({ws_tma_pull, blocks, 128});
    }
    const Tuning largest{ws_stores, std::min(blocks_, choices.most_blocks), whole_warps(512)};
    if (tunings.empty() || (op_list.lists && std::ranges::find(tunings, largest) == tunings.end()))
        add(largest);
    if (tunings.empty()) throw Error("gpu: no protocol moves what this program moves");
    tunings = asked_for(std::move(tunings), choices);
    return choices.all_tried ? tunings : worth_trying(std::move(tunings), bytes);
}

/// For tests and studies: options fix the protocol.
std::vector<Tuning> Protocols::asked_for(std::vector<Tuning> tunings,
                                         const Choices& choices) const {
    const std::string wanted = context_.option("protocol", "");
    if (wanted.empty()) return tunings;
    for (const WsProtocol protocol : {ws_ll, ws_stores, ws_tma, ws_pull, ws_tma_pull}) {
        Tuning tuning{protocol,
                      static_cast<std::uint32_t>(
                          context_.number("blocks", protocol == ws_ll ? 1 : 32, 1, most_blocks)),
                      whole_warps(context_.number("threads", 512, 1, 1024))};
        if (tuning.text() != wanted) continue;
        tuning.blocks = std::min(tuning.blocks, blocks_);
        if (protocol == ws_ll ? !choices.allow(tuning) : choices.most_blocks == 1)
            tuning.blocks = 1;
        // What is not possible for this program is chosen as ever.
        return choices.allow(tuning) ? std::vector{tuning} : tunings;
    }
    throw Error("gpu: protocol is LL, stores, TMA, pull or TMA-pull, not " + wanted);
}

/// Trials of long messages take longer than all others together.
std::vector<Tuning> Protocols::worth_trying(std::vector<Tuning> tunings, std::size_t bytes) const {
    if (fast_bytes_ < nothing_new || bytes < fast_bytes_) return tunings;
    std::vector<Tuning> again;
    for (const Tuning& one : tunings)
        if (std::ranges::find(fast_, one) != fast_.end()) again.push_back(one);
    return again.size() > (slow_ ? 0 : 1) ? again : tunings;
}

Tuning Protocols::fastest(PersistentProgram& program, const std::vector<Tuning>& tunings) {
    if (tunings.size() == 1 && (slow_ || !context_.option("protocol", "").empty()))
        return tunings.front();
    Tuning best = tunings.front();
    double least = try_one(program, best, std::numeric_limits<double>::infinity());
    std::vector<Tried> tried{{least, best}};
    const auto try_too = [&](const Tuning& tuning) {
        const double seconds = try_one(program, tuning, least);
        tried.emplace_back(seconds, tuning);
        if (seconds >= least) return;
        best = tuning;
        least = seconds;
    };
    for (std::size_t i = 1; i < tunings.size(); ++i) try_too(tunings[i]);
    if (least > fills_link && least < brief_is_enough) return settled(program, std::move(tried));
    slow_ = least >= brief_is_enough;
    if (slow_) keep_fastest(tried, 1);
    // One block's route to memory and to the link depends on where on the chip it runs.
    constexpr std::uint32_t places = 8;
    const Tuning first = best;
    if (best.protocol == ws_ll && best.blocks == 1 && blocks_ >= 2 * places)
        for (std::uint32_t i = 1; i < places; ++i) {
            Tuning other = first;
            other.place = i * blocks_ / places;
            try_too(other);
        }
    return best;
}

/// Of the fastest few, the one that stays fast.
Tuning Protocols::settled(PersistentProgram& program, std::vector<Tried> tried) {
    constexpr std::size_t finalists = 4, fast_ones = 8;
    keep_fastest(tried, fast_ones);
    tried.resize(std::min(tried.size(), finalists));
    Tuning best = tried.front().second;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [brief, tuning] : tried) {
        program.use(tuning);
        const double seconds = settled_seconds(context_.control, program);
        if (seconds >= least) continue;
        best = tuning;
        least = seconds;
    }
    return best;
}

/// So many of those tried, the fastest first, also for longer messages.
void Protocols::keep_fastest(std::vector<Tried>& tried, std::size_t count) {
    std::stable_sort(tried.begin(), tried.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    tried.resize(std::min(tried.size(), count));
    fast_.clear();
    for (const auto& [seconds, tuning] : tried) fast_.push_back(tuning);
}

double Protocols::try_one(PersistentProgram& program, const Tuning& tuning, double least) {
    program.use(tuning);
    return trial_seconds(context_.control, program, least);
}

}  // namespace wirespeed
