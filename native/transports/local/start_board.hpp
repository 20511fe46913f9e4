// A page that the ranks of a host share: in it they agree on the moment when they start, and note
// when each did.
#pragma once

#include <sched.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

#include "measure/start_skew.hpp"
#include "transports/local/segment.hpp"

namespace wirespeed {

/// When this rank started, in nanoseconds on the monotonic clock.
struct StartTimes {
    std::int64_t agreed, left;
};

/// By the CPUs that each rank of a host may use: are there more ranks than CPUs among those of one
/// rank, or of all? An empty mask is not known.
bool is_crowded(std::span<const cpu_set_t> allowed);

class StartBoard {
  public:
    /// Every rank calls it. Where ranks of a host cannot share memory no rank has a page, and why()
    /// says so. `first`: the number of the first meeting, the same on every rank, for tests.
    explicit StartBoard(Control& control, std::uint32_t first = 0);
    StartBoard(const StartBoard&) = delete;
    StartBoard& operator=(const StartBoard&) = delete;

    /// Do all ranks of the world share this page and read the same clock?
    bool has_all_ranks() const { return has_all_ranks_; }
    /// Why there is no page; empty where there is one, and for a rank alone.
    const std::string& why() const { return why_; }

    /// Waits for all ranks of the board, which must be all of the world, and then until the moment
    /// that the last of them named.
    StartTimes meet();

    /// Samples that begin from now on are noted in `skew`; null: in none. The last ones are
    /// complete when the ranks have met once more, and then called arrive().
    void record(std::shared_ptr<StartSkew> skew);
    /// This rank's sample begins `by` these means, a word that stays. Without an agreed moment, 0,
    /// that of the host's first rank counts. The sample runs: nothing else is done now.
    void note(const char* by, const StartTimes& start) {
        by_ = by;
        start_ = start;
    }
    /// Tells the others of the last sample, which is over; before each meeting but meet().
    void arrive();

  private:
    struct SharedMoments;
    struct PendingSample {
        std::uint32_t number;
        std::int64_t agreed;
        std::shared_ptr<StartSkew> skew;
    };
    void share(Control& control, std::uint32_t first);
    bool wait(std::uint32_t released, bool patient);
    void tell();
    void add_complete_samples();

    Control& control_;
    Segment segment_;
    SharedMoments* moments_ = nullptr;  ///< in the segment; null: none
    std::string why_;
    bool has_all_ranks_ = false;
    std::uint32_t ranks_ = 0, me_ = 0;  ///< of this host
    std::uint32_t arrivals_ = 0, meeting_ = 0;
    bool crowded_ = false;  ///< more ranks than CPUs
    std::int64_t margin_ = 0;

    std::shared_ptr<StartSkew> skew_;
    const char* by_ = nullptr;  ///< null: the others have been told of the last sample
    StartTimes start_{};
    std::uint32_t sample_ = 0;  ///< the number of the last sample that the others were told of
    std::deque<PendingSample>
        pending_samples_;  ///< on the host's first rank, of samples that some may still tell
};

}  // namespace wirespeed
