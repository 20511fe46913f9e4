// Steps in order as UCX's tag sends and receives: a step posts all of its own and waits.
#pragma once

#include <span>
#include <vector>

#include "measure/program.hpp"
#include "transports/lists.hpp"
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

    /// Its peers are connected to. `whole_lists`: each list is one message.
    void add(const Step& step, const Buffers& buffers, bool whole_lists = false) {
        StepOps ops;
        using Params = Ucx::RequestParams;
        const auto lists = [&](std::span<const Transfer> transfers) {
            std::vector<std::span<const Transfer>> found;
            if (whole_lists) return lists_of(transfers);
            for (std::size_t i = 0; i < transfers.size(); ++i)
                found.push_back(transfers.subspan(i, 1));
            return found;
        };
        const auto sends = lists(step.sends), receives = lists(step.receives);
        const bool only_sends = receives.empty() && sends.size() == 1;
        const Params from{
            .mask = Params::has_memory_type | (only_sends ? Params::completes_early : 0),
            .memory_type = ucx_.memory_type(buffers.kind)};
        const Params into{.mask = Params::has_memory_type,
                          .memory_type = ucx_.memory_type(buffers.worked_on())};
        for (const auto list : receives)
            ops.receives.push_back(part(list, buffers.receive, tag(list[0].peer), nullptr, into));
        for (const auto list : sends)
            ops.sends.push_back(part(list, buffers.send, tag(rank_), ucx_.to(list[0].peer), from));
        steps_.push_back(std::move(ops));
    }
    const Preparation& prepared() const { return prepared_; }

    void run() override {
        const Ucx& calls = ucx_.calls();
        for (const StepOps& ops : steps_) {
            for (const Part& part : ops.receives) {
                page_.enter(receive_, part.peer);
                ucx_.add(calls.receive(ucx_.handle(), part.address, part.count, part.tag,
                                       ~Ucx::Tag{}, &part.params),
                         "ucp_tag_recv_nbx", part.bytes, part.peer);
            }
            for (const Part& part : ops.sends) {
                page_.enter(send_, part.peer);
                ucx_.add(calls.send(part.to, part.address, part.count, part.tag, &part.params),
                         "ucp_tag_send_nbx", part.bytes, part.peer);
            }
            ucx_.finish(wait_);
        }
    }

  private:
    struct Part {
        void* address;
        std::size_t count;  ///< of bytes, or of the blocks of a list
        std::size_t bytes;
        Ucx::Tag tag;
        int peer;
        Ucx::Endpoint to;
        Ucx::RequestParams params;
    };
    /// Operations of one step.
    struct StepOps {
        std::vector<Part> receives, sends;
    };

    Part part(std::span<const Transfer> list, std::byte* base, Ucx::Tag tag, Ucx::Endpoint to,
              Ucx::RequestParams params) {
        const Transfer& first = list.front();
        if (list.size() == 1)
            return {base + first.offset, first.bytes, first.bytes, tag, first.peer, to, params};
        prepared_.add([&] {
            auto& parts = lists_.emplace_back();
            for (const Transfer& block : list) parts.push_back({base + block.offset, block.bytes});
        });
        params.mask |= Ucx::RequestParams::has_datatype;
        params.datatype = Ucx::RequestParams::scattered;
        return {lists_.back().data(),
                list.size(),
                first.bytes * list.size(),
                tag,
                first.peer,
                to,
                params};
    }
    Ucx::Tag tag(int sender) const {
        return static_cast<Ucx::Tag>(purpose_) << 32 | static_cast<Ucx::Tag>(sender);
    }

    Endpoints& ucx_;
    Page& page_;
    int rank_;
    Purpose purpose_;
    CallId send_, receive_, wait_;
    std::vector<StepOps> steps_;
    std::vector<std::vector<Ucx::IoVec>> lists_;
    Preparation prepared_;
};

}  // namespace wirespeed::ucx
