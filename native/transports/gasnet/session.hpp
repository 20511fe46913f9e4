// This process's one membership of a GASNet job, and the memory that its peers write to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "libraries/gasnet.hpp"
#include "transports/transport.hpp"

namespace wirespeed::gasnet {

class Session {
  public:
    /// The process's only one, opened by the first call: GASNet starts once in a process, and never
    /// ends without ending it. Every rank calls it. Throws Unavailable where no conduit was built
    /// or the one asked for cannot join these ranks.
    static Session& of(Context& context);

    const Gasnet& calls() const { return calls_; }
    const std::string& conduit() const { return conduit_; }

    /// Memory in the same place of every rank's segment; null where there is no room for it.
    std::byte* allocate(std::size_t bytes);
    void release(std::byte* address) { used_.erase(offset(address)); }

    /// What lies at `here` in this rank's segment, in the peer's own addresses.
    template <class T> T* at(T* here, int peer) const {
        return reinterpret_cast<T*>(bases_[static_cast<std::size_t>(peer)] +
                                    offset(reinterpret_cast<std::byte*>(here)));
    }

  private:
    Session(std::string conduit, Library library);
    void join(Context& context);
    std::size_t offset(const std::byte* address) const {
        return static_cast<std::size_t>(address - mine_);
    }

    std::string conduit_;
    Library library_;
    Gasnet calls_;
    std::byte* mine_ = nullptr;
    std::vector<std::byte*> bases_;            ///< by rank
    std::size_t bytes_ = 0;                    ///< of the smallest segment
    std::map<std::size_t, std::size_t> used_;  ///< offset -> bytes
};

/// Starts the process that a conduit needs beside its ranks, on rank 0; every rank then knows where
/// it listens. Every rank calls it.
void start_master(Control& control, const std::string& library);

}  // namespace wirespeed::gasnet
