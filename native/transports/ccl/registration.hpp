// Buffers as NCCL likes them best: memory that it hands out itself, made known to the communicator.
#pragma once

#include <map>
#include <string>

#include "transports/ccl/communicator.hpp"

namespace wirespeed::ccl {

class Registration {
  public:
    /// `kind`: "registered" (ncclCommRegister) or "symmetric" (ncclCommWindowRegister). Throws
    /// Unavailable where the library is too old.
    Registration(Communicator& communicator, Context& context, const std::string& kind);

    /// Every rank calls both. Throws Error, on every rank; Unavailable where NCCL makes no window.
    Buffers allocate(std::size_t bytes);
    void release(Buffers& buffers);

  private:
    std::byte* allocated(std::size_t bytes);
    void make_known(std::byte* address, std::size_t bytes);

    Communicator& communicator_;
    Context& context_;
    const Nccl::Calls& calls_;
    bool symmetric_;
    std::map<std::byte*, Nccl::Registration> known_;
};

}  // namespace wirespeed::ccl
