// Iterations of puts into symmetric memory, each followed by a signal: a word at the receiver, for
// which it waits. The library that puts, signals and waits is the transport's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "measure/program.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// Two words for each rank, in symmetric memory, and what was last written to or seen in each. A
/// word counts for ever, whatever program runs, and only one rank writes to it.
class Signals {
  public:
    static std::size_t bytes(int ranks) {
        return 2 * static_cast<std::size_t>(ranks) * sizeof(std::uint64_t);
    }
    /// `words`: so many bytes, zero at the start.
    Signals(void* words, int rank, int ranks)
        : words_(static_cast<std::uint64_t*>(words)), rank_(rank), ranks_(ranks),
          sent_(2 * static_cast<std::size_t>(ranks)), seen_(sent_.size()) {}

    enum Kind { arrived = 0, ready = 1 };

    /// The word that this rank writes to at any peer; the word that `peer` writes to here.
    std::uint64_t* mine(Kind kind) const { return words_ + place(kind, rank_); }
    std::uint64_t* of(Kind kind, int peer) const { return words_ + place(kind, peer); }
    /// The value to signal to `peer`, or to wait for from it, for so many messages more.
    std::uint64_t next(Kind kind, int peer, std::uint64_t messages = 1) {
        return sent_[place(kind, peer)] += messages;
    }
    std::uint64_t see(Kind kind, int peer, std::uint64_t messages = 1) {
        return seen_[place(kind, peer)] += messages;
    }

  private:
    std::size_t place(Kind kind, int peer) const {
        return static_cast<std::size_t>(kind * ranks_ + peer);
    }
    std::uint64_t* words_;
    int rank_, ranks_;
    std::vector<std::uint64_t> sent_, seen_;
};

/// The messages of a step between this rank and a peer, for which one signal is enough.
struct MessagesOfPeer {
    int peer;
    std::uint64_t messages;

    static void count(std::vector<MessagesOfPeer>& all, int peer) {
        const auto known = std::ranges::find(all, peer, &MessagesOfPeer::peer);
        if (known == all.end())
            all.push_back({peer, 1});
        else
            ++known->messages;
    }
};

/// `Calls` has
///   put(to, from, bytes, word, value, peer)   the bytes, then the signal
///   signal(word, value, peer)                 the signal alone
///   wait(word, value, peer)                   until the word here has reached the value
///   finish(peer)                              until all of it is done; peer: the only one, or -1
///
/// One sender's puts and signals must reach one receiver in their order. So a word that has reached
/// a number says that all messages up to that number have arrived.
template <class Calls> class SignalledIterations final : public Action {
  public:
    SignalledIterations(Calls calls, Signals& signals, bool ready_notice)
        : calls_(std::move(calls)), signals_(signals), ready_notice_(ready_notice) {}

    /// `theirs` is `step` as its peers see it; buffers are symmetric.
    void add(const Step& step, const Step& theirs, const Buffers& buffers) {
        StepOps ops;
        for (std::size_t i = 0; i < step.sends.size(); ++i) {
            const Transfer& mine = step.sends[i];
            ops.puts.push_back({buffers.receive + theirs.sends[i].offset,
                                buffers.send + mine.offset, mine.bytes, mine.peer});
            note_peer(mine.peer);
        }
        for (const Transfer& transfer : step.receives) {
            MessagesOfPeer::count(ops.from, transfer.peer);
            note_peer(transfer.peer);
        }
        steps_.push_back(std::move(ops));
    }

    void run() override {
        for (const StepOps& ops : steps_) {
            if (ready_notice_)
                for (const auto& [peer, messages] : ops.from)
                    calls_.signal(signals_.mine(Signals::ready),
                                  signals_.next(Signals::ready, peer, messages), peer);
            for (const Put& put : ops.puts) {
                // In their order: enough where both ends of a transfer are in the same step.
                if (ready_notice_) wait(Signals::ready, put.peer, 1);
                const std::uint64_t value = signals_.next(Signals::arrived, put.peer);
                std::uint64_t* const word = signals_.mine(Signals::arrived);
                if (put.bytes)
                    calls_.put(put.to, put.from, put.bytes, word, value, put.peer);
                else
                    calls_.signal(word, value, put.peer);
            }
            for (const auto& [peer, messages] : ops.from) wait(Signals::arrived, peer, messages);
        }
        calls_.finish(std::max(only_peer_, -1));
    }

  private:
    struct Put {
        std::byte* to;  ///< in this rank's memory; the receiver has the same place in its own
        const std::byte* from;
        std::size_t bytes;
        int peer;
    };
    /// Operations of one step.
    struct StepOps {
        std::vector<Put> puts;
        std::vector<MessagesOfPeer> from;
    };
    static constexpr int several = -1, none = -2;

    void note_peer(int peer) {
        only_peer_ = only_peer_ == none || only_peer_ == peer ? peer : several;
    }
    void wait(Signals::Kind kind, int peer, std::uint64_t messages) {
        calls_.wait(signals_.of(kind, peer), signals_.see(kind, peer, messages), peer);
    }

    Calls calls_;
    Signals& signals_;
    bool ready_notice_;
    std::vector<StepOps> steps_;
    int only_peer_ = none;
};

}  // namespace wirespeed
