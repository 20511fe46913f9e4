// The status pages of this host's ranks, which lie in one folder.
#pragma once

#include <cstdint>
#include <filesystem>

#include "measure/page.hpp"

namespace wirespeed {

class HostPages {
  public:
    explicit HostPages(Page& own)
        : own_(own.layout()), folder_(std::filesystem::path(own.file()).parent_path()) {}

    /// Seconds for which no rank of this host has got anywhere, at least. `still`: of this rank
    /// alone. A quarter of `limit` after its last progress it looks at the others for the first
    /// time, and then each time that `limit` has passed.
    double quiet(double still, double limit);
    /// Were there pages of all ranks of the job at the last look?
    bool all_seen() const { return seen_ >= own_.ranks.load(); }

  private:
    bool moved();

    PageLayout& own_;
    std::filesystem::path folder_;
    int seen_ = 0;
    std::uint64_t progress_ = 0;            ///< iterations and stages of all of them
    double last_look_ = -1, moved_at_ = 0;  ///< by `still`; -1: not looked yet
};

}  // namespace wirespeed
