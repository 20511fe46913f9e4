// The iterations of a program over a window. In each transfer one side is active: it puts (the
// sender) or gets (the receiver). The other side, the passive one, does no more than exchange empty
// messages with it: "ready" before the active side may begin, "done" when the bytes have arrived.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "measure/program.hpp"
#include "transports/rma/window.hpp"
#include "transports/transport.hpp"

namespace wirespeed::rma {

struct Choice {
    bool get = false;  ///< the receiver is the active side
    /// The active side waits until the passive one has begun the step. A get always does: the data
    /// must be ready before it is read. A put does where it could overwrite what is in use
    /// (has_overwrite_hazard).
    bool ready_notice = false;
    std::size_t piece = 0;  ///< the most bytes for one call
};

/// One transfer. The number that distinguishes a transfer's notices from others' is its place among
/// all from the same rank to the same rank: both ends count alike.
struct Part {
    std::byte* here;
    mpi::Aint remote_offset;  ///< in the peer's window
    std::size_t bytes;
    int peer, number;
};

template <class Abi> class OpList final : public Action {
  public:
    OpList(mpi::World<Abi>& world, const mpi::WindowCalls<Abi>& calls, typename Abi::Win window,
           Choice choice, Page& page)
        : mpi_(world.calls), calls_(calls), communicator_(world.communicator), window_(window),
          choice_(choice), page_(page), move_(page.name(mover())),
          flush_(page.name("MPI_Win_flush")), sync_(page.name("MPI_Win_sync")),
          tell_(page.name("MPI_Send of a notice")), wait_(page.name("MPI_Recv of a notice")),
          wait_some_(page.name("MPI_Waitsome of notices")) {}

    /// `theirs` is `step` as its peers see it.
    void add(const Step& step, const Step& theirs, const Buffers& buffers) {
        StepOps ops;
        const auto add_all = [&](const std::vector<Transfer>& mine,
                                 const std::vector<Transfer>& seen, bool sends) {
            const bool active = sends != choice_.get;
            std::byte* const base = sends ? buffers.send : buffers.receive;
            for (std::size_t i = 0; i < mine.size(); ++i) {
                const int number = numbers_[{mine[i].peer, sends}]++ % numbers_at_once;
                const Part part{base + mine[i].offset, static_cast<mpi::Aint>(seen[i].offset),
                                mine[i].bytes, mine[i].peer, number};
                (active ? ops.active : ops.passive).push_back(part);
                ops.exposed |= !active && part.bytes > 0;
            }
        };
        add_all(step.sends, theirs.sends, true);
        add_all(step.receives, theirs.receives, false);
        const std::size_t active = ops.active.size();
        requests_.resize(std::max(requests_.size(), active));
        arrived_.resize(std::max(arrived_.size(), active));
        if (active + ops.passive.size() > 0) steps_.push_back(std::move(ops));
    }

    void run() override {
        for (const StepOps& ops : steps_) {
            if (choice_.ready_notice) {
                if (choice_.get && ops.exposed) synchronise();
                for (const Part& part : ops.passive) tell(ready, part);
            }
            if (!choice_.ready_notice)
                move(ops.active);
            else if (ops.active.size() == 1)
                wait(ready, ops.active[0]), move(ops.active);
            else if (!ops.active.empty())
                move_as_they_come(ops.active);
            for (const Part& part : ops.passive) wait(done, part);
            if (!choice_.get && ops.exposed) synchronise();
        }
    }

  private:
    /// Operations of one step.
    struct StepOps {
        std::vector<Part> active, passive;
        bool exposed = false;  ///< others read or write this rank's window
    };

    /// Tags: any MPI takes them up to 32767. The transport "mpi" has another one.
    enum Notice : int { ready = 4096, done = 8192 };
    static constexpr int numbers_at_once = 4096;

    const char* mover() const { return choice_.get ? "MPI_Get" : "MPI_Put"; }

    void tell(Notice notice, const Part& part) {
        page_.enter(tell_, part.peer);
        // Every MPI keeps an empty message until it is asked for: this waits for nobody.
        const int code =
            mpi_.send(nullptr, 0, mpi_.byte, part.peer, notice + part.number, communicator_);
        if (code != mpi::success) [[unlikely]]
            mpi_.check(code, "MPI_Send", "a notice to peer " + std::to_string(part.peer));
    }

    void wait(Notice notice, const Part& part) {
        page_.enter(wait_, part.peer);
        const int code = mpi_.recv(nullptr, 0, mpi_.byte, part.peer, notice + part.number,
                                   communicator_, Abi::status_ignore());
        if (code != mpi::success) [[unlikely]]
            mpi_.check(code, "MPI_Recv", "a notice from peer " + std::to_string(part.peer));
    }

    /// All of them in flight, then a flush for each peer, then the notices.
    template <class Parts> void move(const Parts& parts) {
        for (const Part& part : parts) start(part);
        flushed_.clear();
        for (const Part& part : parts) flush(part);
        for (const Part& part : parts) tell(done, part);
    }

    /// Peers may begin the step in any order: none waits for another.
    void move_as_they_come(const std::vector<Part>& parts) {
        page_.enter(wait_some_);
        const int all = static_cast<int>(parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i)
            mpi_.check(mpi_.irecv(nullptr, 0, mpi_.byte, parts[i].peer, ready + parts[i].number,
                                  communicator_, &requests_[i]),
                       "MPI_Irecv", "a notice from peer " + std::to_string(parts[i].peer));
        for (int moved = 0, count = 0; moved < all; moved += count) {
            page_.enter(wait_some_);
            mpi_.check(mpi_.waitsome(all, requests_.data(), &count, arrived_.data(),
                                     Abi::statuses_ignore()),
                       "MPI_Waitsome", std::to_string(all) + " notices");
            ready_now_.clear();
            for (int i = 0; i < count; ++i)
                ready_now_.push_back(
                    parts[static_cast<std::size_t>(arrived_[static_cast<std::size_t>(i)])]);
            move(ready_now_);
        }
    }

    void start(const Part& part) {
        if (part.bytes == 0) return;
        page_.enter(move_, part.peer);
        for (std::size_t begin = 0; begin < part.bytes; begin += choice_.piece) {
            const int count = static_cast<int>(std::min(choice_.piece, part.bytes - begin));
            const mpi::Aint at = part.remote_offset + static_cast<mpi::Aint>(begin);
            const int code = choice_.get ? calls_.get(part.here + begin, count, mpi_.byte,
                                                      part.peer, at, count, mpi_.byte, window_)
                                         : calls_.put(part.here + begin, count, mpi_.byte,
                                                      part.peer, at, count, mpi_.byte, window_);
            if (code != mpi::success) [[unlikely]]
                mpi_.check(code, mover(), arguments(part));
        }
    }

    void flush(const Part& part) {
        if (part.bytes == 0) return;
        if (std::find(flushed_.begin(), flushed_.end(), part.peer) != flushed_.end()) return;
        flushed_.push_back(part.peer);
        page_.enter(flush_, part.peer);
        const int code = calls_.flush(part.peer, window_);
        if (code != mpi::success) [[unlikely]]
            mpi_.check(code, "MPI_Win_flush", arguments(part));
    }

    void synchronise() {
        page_.enter(sync_);
        mpi_.check(calls_.sync(window_), "MPI_Win_sync");
    }

    static std::string arguments(const Part& part) {
        return std::to_string(part.bytes) + " bytes, peer " + std::to_string(part.peer);
    }

    const mpi::Calls<Abi>& mpi_;
    const mpi::WindowCalls<Abi>& calls_;
    typename Abi::Comm communicator_;
    typename Abi::Win window_;
    Choice choice_;
    Page& page_;
    CallId move_, flush_, sync_, tell_, wait_, wait_some_;
    std::vector<StepOps> steps_;
    std::map<std::pair<int, bool>, int> numbers_;  ///< of transfers with (peer, sent?) so far
    std::vector<int> flushed_, arrived_;
    std::vector<Part> ready_now_;
    std::vector<typename Abi::Request> requests_;
};

}  // namespace wirespeed::rma
