// All ranks joined in one communicator of NCCL, and a stream for what it does.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "devices/device.hpp"
#include "libraries/nccl.hpp"
#include "measure/page.hpp"
#include "transports/transport.hpp"

namespace wirespeed::ccl {

class Communicator {
  public:
    /// Every rank makes one; where one cannot, none has one. Throws Error.
    explicit Communicator(Context& context);
    /// Where close() was not called, a peer may be gone: NCCL is told to give up.
    ~Communicator();
    /// Every rank calls it: NCCL's orderly end waits for all of them.
    void close();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    const Nccl::Calls& calls() const { return *calls_; }
    Nccl::Comm handle() const { return handle_; }
    Stream& stream() const { return *stream_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    std::string version() const { return Nccl::version_text(version_); }

    /// A byte of device memory for messages that carry nothing, to send and to receive.
    std::byte* nothing_out() const { return scratch_.address(); }
    std::byte* nothing_in() const { return scratch_.address() + scratch_.bytes() / 2; }

    /// Throws Error with NCCL's words unless `code` says success.
    void check(Nccl::Result code, const char* call, std::string_view arguments = {}) {
        if (code != Nccl::success) [[unlikely]]
            fail(code, call, arguments);
    }

    /// Looks until `done()` holds; throws Error when NCCL has met one that nobody was there to
    /// hear.
    template <class Done> void wait(Done done) {
        constexpr unsigned looks_between = 4096;
        for (unsigned looks = 1; !done(); ++looks) {
            if (looks % looks_between) continue;
            check_meanwhile();
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
        Nccl::UniqueId unique_id;  ///< of rank 0
    };
    Introduction introduce(Context& context);
    void check_meanwhile();
    void abort() noexcept;
    [[noreturn]] void fail(Nccl::Result code, const char* call, std::string_view arguments);

    Page& page_;
    int rank_, size_;
    std::string library_, variables_;
    int version_ = 0;
    double start_seconds_ = 0;  ///< until ncclCommInitRank came back on the slowest rank
    std::size_t log_begin_ = 0;
    std::unique_ptr<Nccl::Calls> calls_;
    std::unique_ptr<Stream> stream_;
    Allocation scratch_;
    Nccl::Comm handle_ = nullptr;
};

}  // namespace wirespeed::ccl
