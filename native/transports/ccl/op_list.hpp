// The steps of a pattern as groups of sends and receives, ready to be put into a stream.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transports/ccl/communicator.hpp"
#include "transports/transport.hpp"

namespace wirespeed::ccl {

class OpList {
  public:
    OpList(Communicator& communicator, Context& context, std::span<const Step> steps,
           const Buffers& buffers);

    /// NCCL's own operation of all ranks. Throws Unavailable for one that it does not have.
    OpList(Communicator& communicator, Page& page, const Collective& collective,
           const Buffers& buffers);

    /// A barrier: what comes behind it in the stream starts when all ranks have come so far.
    static OpList barrier(Communicator& communicator, Page& page);

    /// Puts one iteration into the communicator's stream, and work that lags beside it.
    void enqueue();
    /// What comes next into that stream waits for the work beside it.
    void join();
    /// Waits until all that is in the stream is done.
    void wait();

    /// The rank that the last group waits for.
    int last_peer() const { return groups_.empty() ? -1 : groups_.back().peer; }
    /// Does a message of no bytes occur? NCCL may leave it out, so it is sent as one byte.
    bool has_empty_messages() const { return has_empty_messages_; }

  private:
    struct Part {
        std::byte* address;
        std::size_t bytes;
        int peer;
        bool sends;
    };
    /// A step: its place among the parts, a peer to name while it is waited for, and its work.
    struct Group {
        std::size_t begin, end;
        int peer;
        std::vector<Work> meanwhile = {}, after = {};
        bool lags = false;  ///< Step::work_lags
    };
    /// Where work runs that overlaps the transfers.
    struct Beside {
        std::unique_ptr<Stream> stream;
        std::unique_ptr<Event> begun, done;
        bool joined = true;  ///< the transfers' stream waits for it
    };
    OpList(Communicator& communicator, Page& page);
    void transfer(const Group& group);
    void enqueue_collective();
    void work_beside(const Group& group);
    void add(const Transfer& transfer, std::byte* base, bool sends);
    void close_group(std::size_t begin);

    Communicator& communicator_;
    Page& page_;
    std::vector<Part> parts_;
    std::vector<Group> groups_;
    bool short_soak_ = true;  ///< all its work is turns of a soak of short messages
    std::shared_ptr<Beside> beside_;
    bool has_empty_messages_ = false;
    std::optional<Collective> collective_;
    const std::byte* from_ = nullptr;
    std::byte* to_ = nullptr;
    CallId group_, wait_;
};

}  // namespace wirespeed::ccl
