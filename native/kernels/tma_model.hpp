// A model of the bulk copy engine (TMA) on the CPU, as late as it may be: a load lands when its
// barrier is waited for, a store reads and writes when its group is. Code that waits too little or
// for the wrong phase, or uses a stage again too early, finds wrong bytes; what no GPU survives is
// an Error.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "kernels/cpu.hpp"
#include "kernels/random.hpp"

namespace wirespeed::cpu {

class TmaModel {
  public:
    using Barrier = const void*;  ///< its address in shared memory

    explicit TmaModel(Random draw) : random_(draw) {}

    /// One arrival and the bytes that it expects end a phase.
    void begin(Barrier barrier);
    /// What plain stores wrote may be read by copies from now on, and no longer so once lanes have
    /// met: they may have written more.
    void fence() { fenced_ = true; }
    void meet() { fenced_ = false; }
    /// Arrives at `barrier`, whose phase ends when all bytes have landed.
    void load(void* to, const void* from, std::size_t bytes, Barrier barrier);
    /// Until the phase of this parity has ended.
    void wait(Barrier barrier, unsigned parity);
    /// A group by itself.
    void store(void* to, const void* from, std::size_t bytes);
    /// Until all but the last `most` groups of this lane have read what they store.
    void wait_read(std::size_t most);
    /// Until all groups of this lane have written it.
    void wait_written();
    /// The kernel is at its end.
    void finish() const;

  private:
    struct Phases {
        unsigned ended = 0;
        bool expects = false;
    };
    struct BulkLoad {
        void* to;
        const void* from;
        std::size_t bytes;
        Barrier barrier;
    };
    struct BulkStore {
        void* to;
        const void* from;
        std::size_t bytes;
        unsigned lane;
        std::vector<unsigned char> content;
        bool read = false, written = false;

        void read_now();
        void write_now();
    };

    Phases& phases(Barrier barrier);
    void land(const BulkLoad& load);
    void happen();

    std::map<Barrier, Phases> barriers_;
    std::vector<BulkLoad> loads_;
    std::vector<BulkStore> stores_;
    bool fenced_ = false;
    Random random_;
};

}  // namespace wirespeed::cpu
