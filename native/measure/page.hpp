// A rank's status page: one file in shared memory that says where the rank is, readable by anyone
// on the host while the rank spins, is stopped or is dead. The layout is read by
// wirespeed/job/status_page.py.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace wirespeed {

/// The call that the rank is in: an index into PageLayout::calls, and the rank that it waits for.
struct CallId {
    std::uint32_t value = 0;
};

struct PageLayout {
    static constexpr std::uint64_t magic_value = 0x31676150'64707377ull;  // "wspdPag1"
    static constexpr int calls_max = 64, name_max = 48, frames_max = 64, text_max = 4096;

    std::uint64_t magic;
    std::int32_t pid, rank;
    char host[64];
    char path[64];
    std::uint64_t bytes;                   ///< message size being measured
    std::atomic<std::uint64_t> iteration;  ///< iterations begun since the start
    std::atomic<std::uint64_t> call;       ///< CallId in the low half, peer + 1 in the high half
    std::atomic<std::uint64_t>
        stages;  ///< stages begun, and parts of long iterations: other progress
    /// Seconds without progress after which the rank is stuck. Read before `stages`: who sees a new
    /// one sees the progress that came with it.
    std::atomic<double> timeout;
    std::atomic<std::uint32_t> ncalls;
    std::atomic<std::uint32_t> nframes;  ///< frames below are complete when not 0
    std::uint64_t frames[frames_max];  ///< return addresses, written by the stack signal's handler
    char calls[calls_max][name_max];   ///< names of calls
    char stack[text_max];              ///< the native stack as text, once asked for
    std::atomic<std::int32_t> signal;  ///< the signal that is killing the rank, or 0
    std::atomic<std::uint32_t> asked;  ///< set by who watches: name the frames and report
    char fault[256];                   ///< "opal_convertor_pack in libopen-pal.so.80"
    /// 0: the rank has something to do. Else it only waits for others, where it cannot see all of
    /// them for so many seconds more than `timeout`.
    std::atomic<double> waits;
    std::atomic<std::int32_t> ranks;  ///< of the job; 0 at first
};

static_assert(std::atomic<double>::is_always_lock_free && sizeof(std::atomic<double>) == 8);

class Page {
  public:
    /// Creates and maps the file `path`; an empty path gives a private page (nobody watches).
    Page(const std::string& path, int rank);
    ~Page();
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    /// Gives a call's name a number, once, before it is timed.
    CallId name(std::string_view call);

    void enter(CallId call, int peer = -1) noexcept {
        layout_->call.store(call.value | (static_cast<std::uint64_t>(peer + 1) << 32),
                            std::memory_order_relaxed);
    }
    void leave() noexcept { layout_->call.store(0, std::memory_order_relaxed); }
    void begin_iteration() noexcept {
        layout_->iteration.store(layout_->iteration.load(std::memory_order_relaxed) + 1,
                                 std::memory_order_relaxed);
    }
    /// Counts as progress within an iteration.
    void advance() noexcept { layout_->stages.fetch_add(1, std::memory_order_relaxed); }
    /// Says what comes next; counts as progress.
    void stage(std::string_view path, std::uint64_t bytes, double timeout) noexcept;
    /// The rank begins its part of a batch; false: it has none, and waits for those that have one.
    void begin_part(bool has_part) noexcept;
    /// It took so many seconds, and others may take longer.
    void end_part(double seconds) noexcept;

    PageLayout& layout() noexcept { return *layout_; }
    const std::string& file() const noexcept { return file_; }

  private:
    std::string file_;
    PageLayout* layout_;
};

}  // namespace wirespeed
