// Steps in order as UCX's tag sends and receives: a step posts all of its own and waits.
#pragma once

#include <span>
#include <vector>

#include "measure/program.hpp"
#include "transports/ucx/endpoints.hpp"

namespace wirespeed::ucx {

class TagList final : public Action {
  public:
    /// What a message belongs to: those of one purpose match no other's.
    enum class Purpose : Ucx::Tag { data = 0, barrier = 1 };

    TagList(Endpoints& endpoints, Page& page, int rank, Purpose purpose)
        : ucx_(endpoints), page_(page), rank_(rank), purpose_(purpose),
          send_(page.name("ucp_tag_send_nbx")), receive_(page.name("ucp_tag_recv_nbx")),
          wait_(page.name("ucp_worker_progress")) {}

    /// Its peers are connected to.
    void add(const Step& step, const Buffers& buffers) {
        Turn turn;
        using Params = Ucx::RequestParams;
        const bool only_sends = step.receives.empty() && step.sends.size() == 1;
        const Params from{
            .mask = Params::has_memory_type | (only_sends ? Params::completes_early : 0),
            .memory_type = ucx_.memory_type(buffers.kind)};
        const Params into{.mask = Params::has_memory_type,
                          .memory_type = ucx_.memory_type(buffers.worked_on())};
        for (const Transfer& t : step.receives)
            turn.receives.push_back(
                {buffers.receive + t.offset, t.bytes, tag(t.peer), t.peer, nullptr, into});
        for (const Transfer& t : step.sends)
            turn.sends.push_back(
                {buffers.send + t.offset, t.bytes, tag(rank_), t.peer, ucx_.to(t.peer), from});
        turns_.push_back(std::move(turn));
    }

    void run() override {
        const Ucx& calls = ucx_.calls();
        for (const Turn& turn : turns_) {
            for (const Part& part : turn.receives) {
                page_.enter(receive_, part.peer);
                ucx_.add(calls.receive(ucx_.handle(), part.address, part.bytes, part.tag,
                                       ~Ucx::Tag{}, &part.params),
                         "ucp_tag_recv_nbx", part.bytes, part.peer);
            }
            for (const Part& part : turn.sends) {
                page_.enter(send_, part.peer);
                ucx_.add(calls.send(part.to, part.address, part.bytes, part.tag, &part.params),
                         "ucp_tag_send_nbx", part.bytes, part.peer);
            }
            ucx_.finish(wait_);
        }
    }

  private:
    struct Part {
        std::byte* address;
        std::size_t bytes;
        Ucx::Tag tag;
        int peer;
        Ucx::Endpoint to;
        Ucx::RequestParams params;
    };
    /// One step.
    struct Turn {
        std::vector<Part> receives, sends;
    };

    Ucx::Tag tag(int sender) const {
        return static_cast<Ucx::Tag>(purpose_) << 32 | static_cast<Ucx::Tag>(sender);
    }

    Endpoints& ucx_;
    Page& page_;
    int rank_;
    Purpose purpose_;
    CallId send_, receive_, wait_;
    std::vector<Turn> turns_;
};

}  // namespace wirespeed::ucx
