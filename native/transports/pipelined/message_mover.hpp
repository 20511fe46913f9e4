// Chunks through private pinned slots, sent from rank to rank by MPI: where ranks share no
// memory.
#pragma once

#include <algorithm>
#include <vector>

#include "transports/mpi/world.hpp"
#include "transports/pipelined/chunk_rings.hpp"
#include "transports/pipelined/mover.hpp"

namespace wirespeed::pipelined {

constexpr int message_tag = 18;

/// What senders and receivers have in common: a chunk goes through two stages, one of a stream and
/// one of MPI, and holds its slot through both.
template <class Abi> class MessageMover : public Mover {
  public:
    MessageMover(mpi::World<Abi>& world, Device& device, CallId call, ChunkRing& ring,
                 std::vector<Chunk> chunks)
        : Mover(call, ring.peer), calls_(world.calls), communicator_(world.communicator),
          device_(device), ring_(ring), chunks_(std::move(chunks)), requests_(ring.count),
          streams_(std::min(chunks_.size(), ring.streams.size())) {}
    void start() override { first_ = second_ = third_ = 0; }

  protected:
    std::string arguments(std::size_t chunk) const {
        return std::to_string(chunks_[chunk].bytes) + " bytes, peer " + std::to_string(ring_.peer);
    }
    typename Abi::Request& request(std::size_t chunk) { return requests_[chunk % ring_.count]; }
    Stream& stream(std::size_t chunk) { return *ring_.streams[chunk % streams_]; }

    /// A copy of the only chunk is not worth a stream: nothing could be done meanwhile.
    void copy(std::size_t chunk, void* to, const void* from) {
        const std::size_t bytes = chunks_[chunk].bytes;
        if (bytes == 0) return;
        if (chunks_.size() == 1)
            device_.copy(to, from, bytes);
        else
            stream(chunk).copy(to, from, bytes);
    }
    bool copied(std::size_t chunk) {
        return chunks_.size() == 1 || chunks_[chunk].bytes == 0 || stream(chunk).done();
    }
    bool tested(std::size_t chunk) {
        int done = 0;
        const int code = calls_.test(&request(chunk), &done, Abi::status_ignore());
        if (code != mpi::success) [[unlikely]]
            calls_.check(code, "MPI_Test", arguments(chunk));
        return done != 0;
    }

    const mpi::Calls<Abi>& calls_;
    typename Abi::Comm communicator_;
    Device& device_;
    ChunkRing& ring_;
    std::vector<Chunk> chunks_;
    std::vector<typename Abi::Request> requests_;
    std::size_t streams_;
    /// Chunks that have begun the first stage, begun the second, ended it.
    std::size_t first_ = 0, second_ = 0, third_ = 0;
};

template <class Abi> class MessageSender final : public MessageMover<Abi> {
  public:
    using MessageMover<Abi>::MessageMover;
    bool progress() override {
        while (this->third_ < this->second_ && this->tested(this->third_)) ++this->third_;
        while (this->second_ < this->first_ && this->copied(this->second_)) send(this->second_++);
        while (this->first_ < this->chunks_.size() &&
               this->first_ < this->third_ + this->ring_.count &&
               this->first_ < this->second_ + this->streams_) {
            const auto chunk = this->first_++;
            this->copy(chunk, this->ring_.slot(chunk), this->chunks_[chunk].address);
        }
        return this->third_ == this->chunks_.size();
    }

  private:
    void send(std::size_t chunk) {
        const int code = this->calls_.isend(this->ring_.slot(chunk),
                                            static_cast<int>(this->chunks_[chunk].bytes),
                                            this->calls_.byte, this->ring_.peer, message_tag,
                                            this->communicator_, &this->request(chunk));
        if (code != mpi::success) [[unlikely]]
            this->calls_.check(code, "MPI_Isend", this->arguments(chunk));
    }
};

template <class Abi> class MessageReceiver final : public MessageMover<Abi> {
  public:
    using MessageMover<Abi>::MessageMover;
    bool progress() override {
        while (this->third_ < this->second_ && this->copied(this->third_)) ++this->third_;
        while (this->second_ < this->first_ && this->second_ < this->third_ + this->streams_ &&
               this->tested(this->second_)) {
            const auto chunk = this->second_++;
            this->copy(chunk, this->chunks_[chunk].address, this->ring_.slot(chunk));
        }
        while (this->first_ < this->chunks_.size() &&
               this->first_ < this->third_ + this->ring_.count)
            receive(this->first_++);
        return this->third_ == this->chunks_.size();
    }

  private:
    void receive(std::size_t chunk) {
        const int code = this->calls_.irecv(this->ring_.slot(chunk),
                                            static_cast<int>(this->chunks_[chunk].bytes),
                                            this->calls_.byte, this->ring_.peer, message_tag,
                                            this->communicator_, &this->request(chunk));
        if (code != mpi::success) [[unlikely]]
            this->calls_.check(code, "MPI_Irecv", this->arguments(chunk));
    }
};

}  // namespace wirespeed::pipelined
