// NVSHMEM from the host: what one round does is enqueued in a CUDA stream, for which the CPU waits
// once. A put carries its signal behind it: a word at the receiver, for which the receiver's own
// stream waits.
#include <algorithm>

#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/local/described.hpp"
#include "transports/local/early.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/shmem/session.hpp"

namespace wirespeed {
namespace {

using shmem::Session;

/// Two words for each rank, in symmetric memory, and what was last written to or seen in each. A
/// word counts for ever, whatever program runs, and only one rank writes to it.
class Signals {
  public:
    Signals(Session& session, Control& control)
        : session_(session), ranks_(static_cast<std::size_t>(control.size())),
          me_(static_cast<std::size_t>(control.rank())),
          words_(reinterpret_cast<std::uint64_t*>(
              session.allocate(2 * ranks_ * sizeof(std::uint64_t), true))),
          told_(2 * ranks_), seen_(2 * ranks_) {}
    ~Signals() { session_.release(words_); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    enum Kind : std::size_t { arrived = 0, ready = 1 };

    /// The word that this rank writes to at any peer.
    std::uint64_t* mine(Kind kind) const { return words_ + kind * ranks_ + me_; }
    /// The word that `peer` writes to here.
    std::uint64_t* of(Kind kind, int peer) const { return words_ + place(kind, peer); }
    /// The next value to tell `peer`, or to wait for from it.
    std::uint64_t tell(Kind kind, int peer) { return ++told_[place(kind, peer)]; }
    std::uint64_t see(Kind kind, int peer) { return ++seen_[place(kind, peer)]; }

  private:
    std::size_t place(Kind kind, int peer) const {
        return kind * ranks_ + static_cast<std::size_t>(peer);
    }
    Session& session_;
    std::size_t ranks_, me_;
    std::uint64_t* words_;
    std::vector<std::uint64_t> told_, seen_;
};

struct Put {
    std::byte* to;  ///< in this rank's heap; the receiver has the same place in its own
    const std::byte* from;
    std::size_t bytes;
    int peer;
};

struct Turn {
    std::vector<Put> puts;
    std::vector<int> from;  ///< the senders of what arrives
};

class Round final : public Action {
  public:
    Round(Session& session, Signals& signals, Device& device, Page& page, bool ready_notice)
        : session_(session), calls_(session.calls()), signals_(signals), page_(page),
          stream_(device.stream()), native_(stream_->native()), ready_notice_(ready_notice),
          enqueue_(page.name("putmem_signal_on_stream")), wait_(page.name("wait for the stream")) {}

    /// `there` is `step` as its peers see it.
    void add(const Step& step, const Step& there, const Buffers& buffers) {
        Turn turn;
        for (std::size_t i = 0; i < step.sends.size(); ++i) {
            const Transfer& mine = step.sends[i];
            turn.puts.push_back({buffers.receive + there.sends[i].offset,
                                 buffers.send + mine.offset, mine.bytes, mine.peer});
            meet(mine.peer);
        }
        for (const Transfer& transfer : step.receives) {
            turn.from.push_back(transfer.peer);
            meet(transfer.peer);
        }
        turns_.push_back(std::move(turn));
    }

    void run() override {
        try {
            const int peer = std::max(only_peer_, -1);
            page_.enter(enqueue_, peer);
            for (const Turn& turn : turns_) enqueue(turn);
            page_.enter(wait_, peer);
            stream_->wait();
        } catch (...) {
            session_.abandon();
            throw;
        }
    }

  private:
    /// Whom a hang is blamed on: a stream does not say whom it waits for.
    void meet(int peer) { only_peer_ = only_peer_ == none || only_peer_ == peer ? peer : several; }

    /// One sender's puts and signals reach one receiver in their order: over direct access because
    /// they are in one stream, over a network because they use one connection. So a word that has
    /// reached a number says that all messages up to that number are there.
    void enqueue(const Turn& turn) {
        if (ready_notice_)
            for (const int peer : turn.from) tell(Signals::ready, peer);
        for (const Put& put : turn.puts) {
            // In their order: whoever sends in this step is told in the same step of the receiver.
            if (ready_notice_) wait(Signals::ready, put.peer);
            if (put.bytes == 0)
                tell(Signals::arrived, put.peer);
            else
                calls_.put_signal(put.to, put.from, put.bytes, signals_.mine(Signals::arrived),
                                  signals_.tell(Signals::arrived, put.peer), Nvshmem::signal_set,
                                  put.peer, native_);
        }
        for (const int peer : turn.from) wait(Signals::arrived, peer);
    }
    void tell(Signals::Kind kind, int peer) {
        calls_.signal(signals_.mine(kind), signals_.tell(kind, peer), Nvshmem::signal_set, peer,
                      native_);
    }
    void wait(Signals::Kind kind, int peer) {
        calls_.wait_signal(signals_.of(kind, peer), Nvshmem::compare_ge, signals_.see(kind, peer),
                           native_);
    }

    static constexpr int several = -1, none = -2;

    Session& session_;
    const Nvshmem& calls_;
    Signals& signals_;
    Page& page_;
    std::unique_ptr<Stream> stream_;
    void* native_;
    bool ready_notice_;
    CallId enqueue_, wait_;
    std::vector<Turn> turns_;
    int only_peer_ = none;
};

class ShmemTransport final : public Transport {
  public:
    explicit ShmemTransport(Context& context)
        : Transport(context), session_(context), signals_(session_, context.control) {}

    Buffers allocate(Memory kind, std::size_t bytes) override {
        if (kind != Memory::device) throw Unavailable("NVSHMEM moves device memory and no other");
        context_.device.enter();
        Buffers buffers;
        buffers.kind = kind;
        buffers.bytes = bytes;
        buffers.send = session_.allocate(bytes);
        try {
            buffers.receive = session_.allocate(bytes);
        } catch (...) {
            session_.release(buffers.send);
            throw;
        }
        return buffers;
    }

    void release(Buffers& buffers) override {
        session_.release(buffers.send);
        session_.release(buffers.receive);
        buffers = {};
    }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        Control& control = context_.control;
        const auto there = peer_offsets(control, steps);
        const bool ready_notice = may_come_early(control, steps, buffers);
        auto round = std::make_unique<Round>(session_, signals_, context_.device, context_.page,
                                             ready_notice);
        bool direct = true;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            round->add(steps[i], there[i], buffers);
            for (const Transfer& send : steps[i].sends)
                direct &= session_.calls().direct(buffers.receive, send.peer) != nullptr;
        }
        const auto word = [](bool value) { return value ? "true" : "false"; };
        return std::make_unique<DescribedProgram>(context_, std::move(round),
                                                  std::string("\"ready_notice\": ") +
                                                      word(ready_notice) +
                                                      ", \"direct\": " + word(direct));
    }

    std::string describe() const override {
        return "\"library\": " + quoted("NVSHMEM " + session_.version());
    }

  private:
    Session session_;
    Signals signals_;
};

const AddTransport add{"shmem", [](Context& context) -> std::unique_ptr<Transport> {
                           return std::make_unique<ShmemTransport>(context);
                       }};

}  // namespace
}  // namespace wirespeed
