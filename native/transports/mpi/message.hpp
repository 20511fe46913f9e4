// A message of any length as MPI wants it: a count that fits an int, and a datatype. Beyond the
// int's range a derived type describes the bytes (Open MPI 5.0 has no large-count calls).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/error.hpp"
#include "libraries/mpi.hpp"

namespace wirespeed::mpi {

constexpr std::size_t largest_count = 2147483647;
constexpr std::size_t piece = std::size_t{1} << 30;

template <class Abi> class Message {
  public:
    /// `largest` is the greatest count given to MPI directly; tests lower it, with `piece_bytes`.
    Message(const Calls<Abi>& calls, std::size_t bytes, std::size_t largest = largest_count,
            std::size_t piece_bytes = piece)
        : calls_(calls) {
        if (bytes <= largest) {
            count_ = static_cast<int>(bytes);
            type_ = calls.byte;
            return;
        }
        typename Abi::Datatype pieces;
        calls.check(calls.type_contiguous(static_cast<int>(piece_bytes), calls.byte, &pieces),
                    "MPI_Type_contiguous", std::to_string(piece_bytes));
        const int lengths[] = {static_cast<int>(bytes / piece_bytes),
                               static_cast<int>(bytes % piece_bytes)};
        const Aint places[] = {0, static_cast<Aint>(bytes - bytes % piece_bytes)};
        const typename Abi::Datatype types[] = {pieces, calls.byte};
        calls.check(calls.type_create_struct(lengths[1] ? 2 : 1, lengths, places, types, &type_),
                    "MPI_Type_create_struct", std::to_string(bytes) + " bytes");
        calls.check(calls.type_commit(&type_), "MPI_Type_commit");
        calls.check(calls.type_free(&pieces), "MPI_Type_free");
        count_ = 1;
        owned_ = true;
    }
    /// Blocks of one size at these places, as one derived type.
    Message(const Calls<Abi>& calls, std::size_t block_bytes, std::span<const Aint> places)
        : calls_(calls) {
        if (block_bytes > largest_count || places.size() > largest_count)
            throw Unavailable("MPI_Type_create_hindexed_block takes blocks below 2 GiB");
        calls.check(calls.type_create_hindexed_block(static_cast<int>(places.size()),
                                                     static_cast<int>(block_bytes), places.data(),
                                                     calls.byte, &type_),
                    "MPI_Type_create_hindexed_block", std::to_string(places.size()) + " blocks");
        calls.check(calls.type_commit(&type_), "MPI_Type_commit");
        count_ = 1;
        owned_ = true;
    }
    ~Message() {
        if (owned_) calls_.type_free(&type_);
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    int count() const { return count_; }
    typename Abi::Datatype type() const { return type_; }

  private:
    const Calls<Abi>& calls_;
    int count_ = 0;
    typename Abi::Datatype type_{};
    bool owned_ = false;
};

}  // namespace wirespeed::mpi
