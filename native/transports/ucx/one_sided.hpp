// UCX's one-sided operations that no message accompanies.
#pragma once

#include "transports/local/one_sided.hpp"
#include "transports/ucx/registered_region.hpp"

namespace wirespeed::ucx {

class OneSidedCalls {
  public:
    struct Part {
        std::byte* here;
        std::size_t bytes;
        std::uint64_t remote_address;
        Ucx::RemoteKey key;
        int peer;
    };
    static constexpr const char* flush_name = "ucp_ep_flush_nbx";

    /// `type`: of the memory at this rank's end.
    OneSidedCalls(Endpoints& endpoints, Ucx::MemoryType type) : ucx_(endpoints) {
        moved_.memory_type = type;
    }

    const char* name(OneSidedOperation operation) const {
        return operation == OneSidedOperation::put   ? "ucp_put_nbx"
               : operation == OneSidedOperation::get ? "ucp_get_nbx"
                                                     : "ucp_atomic_op_nbx";
    }
    void start(const Part& part, OneSidedOperation operation, Additions& additions) {
        ucx_.add(issue(part, operation, additions), name(operation), part.bytes, part.peer);
    }
    void flush(const Part& part, CallId call) {
        ucx_.add(ucx_.calls().flush(ucx_.to(part.peer), &plain), flush_name, 0, part.peer);
        ucx_.finish(call);
    }

  private:
    Ucx::Request issue(const Part& part, OneSidedOperation operation, Additions& additions) {
        const auto endpoint = ucx_.to(part.peer);
        if (operation == OneSidedOperation::put)
            return ucx_.calls().put(endpoint, part.here, part.bytes, part.remote_address, part.key,
                                    &moved_);
        if (operation == OneSidedOperation::get)
            return ucx_.calls().get(endpoint, part.here, part.bytes, part.remote_address, part.key,
                                    &moved_);
        const Ucx::RequestParams fetching{
            .mask = Ucx::RequestParams::has_datatype | Ucx::RequestParams::has_reply,
            .datatype = Ucx::RequestParams::words,
            .reply = &additions.fetched};
        return ucx_.calls().atomic(endpoint, Ucx::add, &additions.addend, 1, part.remote_address,
                                   part.key, &fetching);
    }

    static constexpr Ucx::RequestParams plain{.mask = 0};

    Endpoints& ucx_;
    Ucx::RequestParams moved_{.mask = Ucx::RequestParams::has_memory_type};
};

}  // namespace wirespeed::ucx
