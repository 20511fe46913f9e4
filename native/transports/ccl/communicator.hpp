// All ranks joined in one communicator of NCCL, and a stream for what it does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "devices/device.hpp"
#include "libraries/nccl.hpp"
#include "measure/page.hpp"
#include "transports/ccl/joined.hpp"
#include "transports/transport.hpp"

namespace wirespeed::ccl {

class Communicator {
  public:
    /// Every rank makes one, or goes on with the one that all have kept; where one cannot, none has
    /// one. Throws Error.
    explicit Communicator(Context& context);
    /// Where neither close() nor keep() was called, a peer may be gone: NCCL is told to give up.
    ~Communicator();
    /// Every rank calls it: NCCL's orderly end waits for all of them.
    void close();
    /// The same, but the next transport may go on with it, unless something has failed over it on
    /// any rank.
    void keep();
    /// Nobody is to go on with it after this one.
    void spoil() noexcept { joined_->spoilt = true; }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    const Nccl::Calls& calls() const { return *joined_->calls; }
    Nccl::Comm handle() const { return joined_->handle; }
    Stream& stream() const { return *joined_->stream; }
    int rank() const { return joined_->rank; }
    int size() const { return joined_->size; }
    std::string version() const { return Nccl::version_text(joined_->version); }

    /// A byte of device memory for messages that carry nothing, to send and to receive.
    std::byte* nothing_out() const { return joined_->scratch.address(); }
    std::byte* nothing_in() const {
        return joined_->scratch.address() + joined_->scratch.bytes() / 2;
    }

    /// Throws Error with NCCL's words unless `code` says success.
    void check(Nccl::Result code, const char* call, std::string_view arguments = {}) {
        joined_->check(code, call, arguments);
    }

    /// Looks until `done()` holds; throws Error when NCCL has met one that nobody was there to
    /// hear.
    template <class Done> void wait(Done done) {
        constexpr unsigned looks_between = 4096;
        for (unsigned looks = 1; !done(); ++looks) {
            if (looks % looks_between) continue;
            joined_->check_meanwhile();
            std::this_thread::yield();
        }
    }

    /// As JSON members.
    std::string describe() const;

  private:
    /// What ranks tell each other before they join.
    struct Introduction {
        char host[64], gpu[64], name[64], pci[20];
        int version;
        bool shares;               ///< the user lets NCCL put several ranks on one GPU
        Nccl::UniqueId unique_id;  ///< of rank 0
    };
    bool take_kept();
    void join();
    Introduction introduce();
    void abort() noexcept;

    Context& context_;
    Page& page_;
    std::unique_ptr<Joined> joined_;
    bool went_on_ = false;  ///< with a communicator that was there
};

}  // namespace wirespeed::ccl
