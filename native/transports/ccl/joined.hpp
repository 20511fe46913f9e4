// What NCCL has joined: a communicator, and the stream that it is used with. It may outlive the
// transport that made it, and serve the next one.
#pragma once

#include <memory>
#include <string>

#include "devices/device.hpp"
#include "libraries/nccl.hpp"
#include "transports/kept.hpp"

namespace wirespeed::ccl {

struct Joined final : Kept {
    /// Of these ranks, on `device`; NCCL has joined nothing yet.
    Joined(Device& device, int rank, int size) : device(&device), rank(rank), size(size) {}
    /// Where close() was not called, a peer may be gone: NCCL is told to give up.
    ~Joined() override;
    /// NCCL's orderly end waits for all ranks.
    void close(Page& page) override;

    /// Throws Error with NCCL's words unless `code` says success.
    void check(Nccl::Result code, const char* call, std::string_view arguments = {}) {
        if (code != Nccl::success) [[unlikely]]
            fail(code, call, arguments);
    }
    /// Throws Error for what NCCL has met and nobody was there to hear.
    void check_meanwhile();
    /// May another transport, of these ranks on this device, go on with it as if it were its own?
    bool fits(const Device& other, int its_rank, int its_size) const;

    Device* device;
    int rank, size;
    std::string library;
    std::string settings = own_settings();
    int version = 0;
    double start_seconds = 0;   ///< until ncclCommInitRank came back on the slowest rank
    std::size_t log_begin = 0;  ///< of its lines in NCCL's log
    bool spoilt = false;        ///< something has failed over it on this rank
    Nccl::UniqueId id{};        ///< the same on all ranks, and of no other communicator
    std::unique_ptr<Nccl::Calls> calls;
    std::unique_ptr<Stream> stream;
    Allocation scratch;
    Nccl::Comm handle = nullptr;

  private:
    /// The user's own settings of NCCL, as JSON members.
    static std::string own_settings();
    [[noreturn]] void fail(Nccl::Result code, const char* call, std::string_view arguments);
};

}  // namespace wirespeed::ccl
