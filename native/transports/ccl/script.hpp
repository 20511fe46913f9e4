// The steps of a pattern as groups of sends and receives, ready to be put into a stream.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transports/ccl/communicator.hpp"
#include "transports/transport.hpp"

namespace wirespeed::ccl {

class Script {
  public:
    Script(Communicator& communicator, Page& page, std::span<const Step> steps,
           const Buffers& buffers);

    /// The ranks meet: what comes behind it in the stream starts when all have come so far.
    static Script meeting(Communicator& communicator, Page& page);

    /// Puts one round into the communicator's stream.
    void enqueue();
    /// Waits until all that is in the stream is done.
    void wait();

    /// The rank that the last group waits for.
    int last_peer() const { return groups_.empty() ? -1 : groups_.back().peer; }
    /// Does a message of no bytes occur? NCCL may leave it out, so it is carried as one byte.
    bool carries_nothing() const { return carries_nothing_; }

  private:
    struct Part {
        std::byte* address;
        std::size_t bytes;
        int peer;
        bool sends;
    };
    /// Its place among the parts, and a peer to name while it is waited for.
    struct Group {
        std::size_t begin, end;
        int peer;
    };
    Script(Communicator& communicator, Page& page);
    void add(const Transfer& transfer, std::byte* base, bool sends);
    void close_group(std::size_t begin);

    Communicator& communicator_;
    Page& page_;
    std::vector<Part> parts_;
    std::vector<Group> groups_;
    bool carries_nothing_ = false;
    CallId group_, wait_;
};

}  // namespace wirespeed::ccl
