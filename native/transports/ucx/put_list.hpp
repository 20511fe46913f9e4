// Steps in order as UCX's puts: all of a step, a flush for each peer, then a word at each receiver,
// which waits for it. Puts may overtake each other: between two to the same word there is a flush
// or a fence.
#pragma once

#include <array>
#include <atomic>
#include <set>
#include <vector>

#include "measure/program.hpp"
#include "transports/local/signalled.hpp"
#include "transports/ucx/registered_region.hpp"

namespace wirespeed::ucx {

class PutList final : public Action {
  public:
    /// `words`: the region of the signals.
    PutList(Endpoints& endpoints, Page& page, Signals& signals, RegisteredRegion& words,
            bool ready_notice)
        : ucx_(endpoints), page_(page), signals_(signals), words_(words),
          ready_notice_(ready_notice), put_(page.name("ucp_put_nbx")),
          signal_(page.name("ucp_put_nbx of a word")), fence_(page.name("ucp_worker_fence")),
          flush_(page.name("ucp_ep_flush_nbx")), wait_(page.name("ucp_worker_progress for a word")),
          finish_(page.name("ucp_worker_progress")) {}

    /// `theirs` is `step` as its peers see it; they are connected to. `into`: the region of the
    /// receive buffers.
    void add(const Step& step, const Step& theirs, const Buffers& buffers, RegisteredRegion& into) {
        StepOps ops;
        for (std::size_t i = 0; i < step.sends.size(); ++i) {
            const Transfer& mine = step.sends[i];
            ops.puts.push_back({buffers.send + mine.offset, mine.bytes,
                                into.place(mine.peer, theirs.sends[i].offset), into.key(mine.peer),
                                mine.peer});
            if (mine.bytes) ops.flushes.insert(mine.peer);
            MessagesOfPeer::count(ops.to, mine.peer);
        }
        for (const Transfer& transfer : step.receives)
            MessagesOfPeer::count(ops.from, transfer.peer);
        values_.resize(values_.size() + ops.to.size() + ops.from.size());
        for (const auto* peers : {&ops.to, &ops.from})
            for (const auto& [peer, messages] : *peers)
                if (const auto count = static_cast<std::size_t>(peer) + 1; count > flying_.size())
                    flying_.resize(count, {true, true});
        params_.memory_type = ucx_.memory_type(buffers.kind);
        steps_.push_back(std::move(ops));
    }

    void run() override {
        value_ = values_.begin();
        for (const StepOps& ops : steps_) {
            if (ready_notice_)
                for (const auto& [peer, messages] : ops.from)
                    signal(Signals::ready, peer, messages);
            for (const Put& put : ops.puts) {
                // In their order: enough where both ends of a transfer are in the same step.
                if (ready_notice_) wait(Signals::ready, put.peer, 1);
                if (put.bytes) start(put);
            }
            for (const int peer : ops.flushes) {
                page_.enter(flush_, peer);
                ucx_.add(ucx_.calls().flush(ucx_.to(peer), &plain), "ucp_ep_flush_nbx", 0, peer);
                flying_[static_cast<std::size_t>(peer)] = {};
            }
            if (!ops.flushes.empty()) ucx_.finish(flush_);
            for (const auto& [peer, messages] : ops.to) signal(Signals::arrived, peer, messages);
            for (const auto& [peer, messages] : ops.from) wait(Signals::arrived, peer, messages);
        }
        ucx_.finish(finish_);
    }

  private:
    struct Put {
        const std::byte* from;
        std::size_t bytes;
        std::uint64_t to;
        Ucx::RemoteKey key;
        int peer;
    };
    /// Operations of one step.
    struct StepOps {
        std::vector<Put> puts;
        std::set<int> flushes;  ///< peers that bytes go to
        std::vector<MessagesOfPeer> to, from;
    };

    void start(const Put& put) {
        page_.enter(put_, put.peer);
        ucx_.add(
            ucx_.calls().put(ucx_.to(put.peer), put.from, put.bytes, put.to, put.key, &params_),
            "ucp_put_nbx", put.bytes, put.peer);
    }
    void signal(Signals::Kind kind, int peer, std::uint64_t messages) {
        if (flying_[static_cast<std::size_t>(peer)][kind]) fence();
        flying_[static_cast<std::size_t>(peer)][kind] = true;
        page_.enter(signal_, peer);
        *value_ = signals_.next(kind, peer, messages);
        const auto place = signals_.mine(kind) - signals_.of(Signals::arrived, 0);
        ucx_.add(
            ucx_.calls().put(ucx_.to(peer), &*value_, sizeof *value_,
                             words_.place(peer, static_cast<std::size_t>(place) * sizeof *value_),
                             words_.key(peer), &plain),
            "ucp_put_nbx", sizeof *value_, peer);
        ++value_;
    }
    /// Whatever was put before arrives before what is put from now on.
    void fence() {
        page_.enter(fence_);
        ucx_.check(ucx_.calls().fence(ucx_.handle()), "ucp_worker_fence");
        flying_.assign(flying_.size(), {});
    }
    void wait(Signals::Kind kind, int peer, std::uint64_t messages) {
        page_.enter(wait_, peer);
        const std::atomic_ref word(*signals_.of(kind, peer));
        const std::uint64_t value = signals_.see(kind, peer, messages);
        ucx_.wait([&] { return word.load(std::memory_order_acquire) >= value; });
    }

    static constexpr Ucx::RequestParams plain{.mask = 0};

    Endpoints& ucx_;
    Page& page_;
    Signals& signals_;
    RegisteredRegion& words_;
    bool ready_notice_;
    CallId put_, signal_, fence_, flush_, wait_, finish_;
    Ucx::RequestParams params_{.mask = Ucx::RequestParams::has_memory_type};
    std::vector<StepOps> steps_;
    std::vector<std::uint64_t> values_;  ///< of words under way; none is used twice in an iteration
    std::vector<std::uint64_t>::iterator value_;
    /// By peer and kind: may the last signal, perhaps another program's, still be under way?
    std::vector<std::array<bool, 2>> flying_;
};

}  // namespace wirespeed::ucx
