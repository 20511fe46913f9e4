// UCX's one-sided operations that no message accompanies: each is issued and flushed, which ends
// when it is complete at its origin and at its target.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "measure/program.hpp"
#include "transports/local/operation.hpp"
#include "transports/ucx/region.hpp"

namespace wirespeed::ucx {

class OneSided final : public Action {
  public:
    OneSided(Endpoints& endpoints, Context& context, Operation operation)
        : ucx_(endpoints), page_(context.page), operation_(operation), additions_(context),
          call_(page_.name(name())), flush_(page_.name("ucp_ep_flush_nbx")) {}

    /// `here`: this rank's end of the transfer, in memory of that type.
    void add(const Transfer& mine, std::byte* here, Ucx::MemoryType type, std::size_t remote_offset,
             Region& region) {
        parts_.push_back({here, mine.bytes, region.place(mine.peer, remote_offset),
                          region.key(mine.peer), mine.peer});
        moved_.memory_type = type;
    }

    void run() override {
        for (const Part& part : parts_) {
            page_.enter(call_, part.peer);
            ucx_.add(start(part), name(), part.bytes, part.peer);
            page_.enter(flush_, part.peer);
            ucx_.add(ucx_.calls().flush(ucx_.to(part.peer), &plain), "ucp_ep_flush_nbx", 0,
                     part.peer);
            ucx_.finish(flush_);
            if (operation_ == Operation::fetch_add) additions_.done();
        }
    }

    void begin() { additions_.begin(); }
    /// The origin's buffer gets the word that was fetched last. Throws Error where the sum is
    /// wrong.
    void end(Device& device) {
        additions_.check();
        if (additions_.count)
            device.copy(parts_.back().here, &additions_.fetched, sizeof additions_.fetched);
    }

    const char* name() const {
        return operation_ == Operation::put   ? "ucp_put_nbx"
               : operation_ == Operation::get ? "ucp_get_nbx"
                                              : "ucp_atomic_op_nbx";
    }

  private:
    struct Part {
        std::byte* here;
        std::size_t bytes;
        std::uint64_t remote_address;
        Ucx::RemoteKey key;
        int peer;
    };

    Ucx::Request start(const Part& part) {
        const auto endpoint = ucx_.to(part.peer);
        if (operation_ == Operation::put)
            return ucx_.calls().put(endpoint, part.here, part.bytes, part.remote_address, part.key,
                                    &moved_);
        if (operation_ == Operation::get)
            return ucx_.calls().get(endpoint, part.here, part.bytes, part.remote_address, part.key,
                                    &moved_);
        const Ucx::RequestParams fetching{
            .mask = Ucx::RequestParams::has_datatype | Ucx::RequestParams::has_reply,
            .datatype = Ucx::RequestParams::words,
            .reply = &additions_.fetched};
        return ucx_.calls().atomic(endpoint, Ucx::add, &additions_.addend, 1, part.remote_address,
                                   part.key, &fetching);
    }

    static constexpr Ucx::RequestParams plain{.mask = 0};

    Endpoints& ucx_;
    Page& page_;
    Operation operation_;
    Additions additions_;
    CallId call_, flush_;
    Ucx::RequestParams moved_{.mask = Ucx::RequestParams::has_memory_type};
    std::vector<Part> parts_;
};

/// Another program that runs the operations, and the check of their sum.
class OneSidedProgram final : public WrappedProgram {
  public:
    OneSidedProgram(Device& device, OneSided& operations, std::unique_ptr<Program> program)
        : WrappedProgram(std::move(program)), device_(device), operations_(operations) {}

  private:
    void before(const Schedule&) override { operations_.begin(); }
    void after(Stamps&) override { operations_.end(device_); }

    Device& device_;
    OneSided& operations_;
};

}  // namespace wirespeed::ucx
