// Threads stand for ranks: set-up traffic through memory.
#pragma once

#include <atomic>
#include <barrier>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "transports/transport.hpp"

/// What the ranks of one world share.
struct Room {
    explicit Room(int size) : size(size), all_here(size) {}
    int size;
    std::barrier<> all_here;
    std::vector<std::byte> gathered;
    std::atomic<int> gathers = 0, barriers = 0;
};

class ThreadControl final : public wirespeed::Control {
  public:
    ThreadControl(Room& room, int rank) : room_(room), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return room_.size; }
    void allgather(const void* mine, void* all, std::size_t bytes) override {
        if (rank_ == 0) ++room_.gathers;
        if (rank_ == 0) room_.gathered.resize(bytes * static_cast<std::size_t>(room_.size));
        room_.all_here.arrive_and_wait();
        std::memcpy(room_.gathered.data() + bytes * static_cast<std::size_t>(rank_), mine, bytes);
        room_.all_here.arrive_and_wait();
        std::memcpy(all, room_.gathered.data(), bytes * static_cast<std::size_t>(room_.size));
        room_.all_here.arrive_and_wait();
    }
    void broadcast(void*, std::size_t, int) override { throw wirespeed::Error("not needed"); }
    void barrier() override {
        if (rank_ == 0) ++room_.barriers;
        room_.all_here.arrive_and_wait();
    }
    std::vector<int> connect(const std::vector<int>&) override {
        throw wirespeed::Error("not needed");
    }

  private:
    Room& room_;
    int rank_;
};
