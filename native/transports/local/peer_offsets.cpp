#include "transports/local/peer_offsets.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

struct AnnouncedTransfer {
    std::int32_t peer;
    std::int32_t receives;  ///< 1: a receive, 0: a send
    std::uint64_t offset, bytes, remote_offset;
};

struct TransferEnd {
    std::uint64_t offset, bytes;
};

/// (peer, does the peer receive?) -> the peer's ends of what it shares with this rank, in order.
using TransferEnds = std::map<std::pair<int, bool>, std::vector<TransferEnd>>;

/// So many transfers of each rank travel at once: all ranks' memory for them grows with the number
/// of ranks, not with its square.
constexpr std::size_t entries_at_once = 64;

std::vector<AnnouncedTransfer> listed(std::span<const Step> steps, int size) {
    std::vector<AnnouncedTransfer> list;
    const auto add = [&](const Transfer& transfer, bool receives) {
        if (transfer.peer < 0 || transfer.peer >= size)
            throw Error("there is no rank " + std::to_string(transfer.peer) + " to send to or " +
                        "receive from: there are " + std::to_string(size));
        list.push_back(
            {transfer.peer, receives, transfer.offset, transfer.bytes, transfer.remote_offset});
    };
    for (const auto& step : steps) {
        for (const auto& transfer : step.sends) add(transfer, false);
        for (const auto& transfer : step.receives) add(transfer, true);
    }
    return list;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t value) {
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ (sum >> 29);
}

/// Over all ranks together nothing is left of it where each end says of the other what is so.
std::uint64_t balance(const std::vector<AnnouncedTransfer>& list, int me) {
    std::map<std::pair<int, bool>, std::uint64_t> taken;
    std::uint64_t sum = 0;
    for (const AnnouncedTransfer& entry : list) {
        const bool receives = entry.receives != 0;
        const std::uint64_t nth = taken[{entry.peer, receives}]++;
        const auto from = static_cast<std::uint64_t>(receives ? entry.peer : me);
        const auto to = static_cast<std::uint64_t>(receives ? me : entry.peer);
        std::uint64_t one = mixed(mixed(mixed(from + 1, to), nth), entry.bytes);
        one = mixed(mixed(one, receives ? entry.remote_offset : entry.offset),
                    receives ? entry.offset : entry.remote_offset);
        sum += receives ? 0 - one : one;
    }
    return sum;
}

/// What the steps themselves say of the other ends.
std::vector<Step> as_told(std::span<const Step> steps) {
    std::vector<Step> theirs;
    for (const auto& step : steps) {
        Step& seen = theirs.emplace_back();
        for (const auto& t : step.sends)
            seen.sends.push_back({t.peer, t.remote_offset, t.bytes, t.offset});
        for (const auto& t : step.receives)
            seen.receives.push_back({t.peer, t.remote_offset, t.bytes, t.offset});
    }
    return theirs;
}

/// All ranks' lists pass by in pieces; each rank keeps what concerns it.
TransferEnds ends_at_peers(Control& control, std::span<const Step> steps) {
    const int me = control.rank(), size = control.size();
    std::vector<AnnouncedTransfer> mine;
    const auto counts = exchange(control, [&] {
        mine = listed(steps, size);
        return mine.size();
    });
    const std::size_t longest = *std::max_element(counts.begin(), counts.end());
    const std::size_t piece = std::min(longest, entries_at_once);
    TransferEnds ends;
    mine.resize(longest + piece);  // the last piece is a whole one too
    std::vector<AnnouncedTransfer> all(piece * static_cast<std::size_t>(size));
    for (std::size_t begin = 0; begin < longest; begin += piece) {
        control.allgather(&mine[begin], all.data(), piece * sizeof(AnnouncedTransfer));
        for (int rank = 0; rank < size; ++rank) {
            const auto at = static_cast<std::size_t>(rank);
            const std::size_t end = std::min(counts[at], begin + piece);
            for (std::size_t i = begin; i < end; ++i) {
                const AnnouncedTransfer& entry = all[at * piece + i - begin];
                if (entry.peer == me)
                    ends[{rank, entry.receives != 0}].push_back({entry.offset, entry.bytes});
            }
        }
    }
    return ends;
}

std::string mismatch(int from, int to, std::size_t nth, const std::string& how) {
    return "transfer " + std::to_string(nth + 1) + " from rank " + std::to_string(from) +
           " to rank " + std::to_string(to) + " " + how;
}

/// Walks through this rank's transfers and takes the other ends one by one.
class Match {
  public:
    Match(TransferEnds ends, int me) : ends_(std::move(ends)), me_(me) {}

    Transfer other_end(const Transfer& mine, bool receives) {
        const int from = receives ? mine.peer : me_, to = receives ? me_ : mine.peer;
        const std::pair key{mine.peer, !receives};
        const auto& theirs = ends_[key];
        const std::size_t nth = taken_[key]++;
        if (nth >= theirs.size())
            throw Error(
                mismatch(from, to, nth,
                         receives ? "is received but never sent" : "is sent but never received"));
        if (theirs[nth].bytes != mine.bytes) {
            const auto sent = receives ? theirs[nth].bytes : mine.bytes;
            const auto received = receives ? mine.bytes : theirs[nth].bytes;
            throw Error(mismatch(from, to, nth,
                                 "is sent with " + std::to_string(sent) +
                                     " bytes and received with " + std::to_string(received)));
        }
        return {mine.peer, theirs[nth].offset, mine.bytes, mine.offset};
    }

  private:
    TransferEnds ends_;
    int me_;
    std::map<std::pair<int, bool>, std::size_t> taken_;
};

}  // namespace

std::vector<Step> peer_offsets(Control& control, std::span<const Step> steps) {
    const auto balances =
        exchange(control, [&] { return balance(listed(steps, control.size()), control.rank()); });
    if (std::accumulate(balances.begin(), balances.end(), std::uint64_t{0}) == 0)
        return as_told(steps);
    Match match(ends_at_peers(control, steps), control.rank());
    std::vector<Step> theirs;
    // What one end has too much, the other end lacks: each rank looking at its own is enough.
    exchange(control, [&] {
        for (const auto& step : steps) {
            Step& seen = theirs.emplace_back();
            for (const auto& t : step.sends) seen.sends.push_back(match.other_end(t, false));
            for (const auto& t : step.receives) seen.receives.push_back(match.other_end(t, true));
        }
        return true;
    });
    return theirs;
}

}  // namespace wirespeed
