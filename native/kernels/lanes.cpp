#include "kernels/lanes.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/error.hpp"

namespace wirespeed::cpu {
namespace {

/// Fibers that wait for the next launch: their stacks are costly to map.
class Idle {
  public:
    std::unique_ptr<Fiber> take() {
        const std::scoped_lock lock(mutex_);
        if (fibers_.empty()) return std::make_unique<Fiber>();
        auto fiber = std::move(fibers_.back());
        fibers_.pop_back();
        return fiber;
    }
    void put(std::unique_ptr<Fiber> fiber) {
        const std::scoped_lock lock(mutex_);
        fibers_.push_back(std::move(fiber));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Fiber>> fibers_;
};

/// Kernels may still run when the process ends.
Idle& idle() {
    static Idle* const all = new Idle;
    return *all;
}

}  // namespace

Lanes::Lanes(const Launch& launch, unsigned block, const std::atomic<bool>& failed)
    : lanes_(launch.lanes), failed_(failed), random_(launch.seed, block) {}

void Lanes::run(const std::function<void()>& body) {
    if (lanes_.size() == 1) return body();
    for (Lane& lane : lanes_) {
        lane.fiber = idle().take();
        lane.fiber->give([this, &lane, &body] {
            try {
                body();
            } catch (...) {
                const Unseen unseen;
                thrown_ = std::current_exception();
            }
            const Unseen unseen;
            lane.state = State::returned;
        });
    }
    take_turns();
    // Where this is not reached, some stand in the middle of the kernel, and are not to go on.
    for (Lane& lane : lanes_) {
        lane.fiber->join();
        idle().put(std::move(lane.fiber));
    }
}

void Lanes::take_turns() {
    const Unseen unseen;
    std::vector<unsigned> order(lanes_.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t returned = 0; returned < order.size();) {
        bool spins = false;
        random_.shuffle(order);
        for (const unsigned lane : order) {
            State& state = lanes_[lane].state;
            if (state != State::runs) continue;
            grid.lane = lane;
            lanes_[lane].fiber->resume();
            if (thrown_) std::rethrow_exception(thrown_);
            if (state == State::runs) spins = true;
            if (state == State::returned) ++returned;
            // Other blocks and ranks are given the time to see what they should not see yet.
            if (random_.one_in(16)) std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        if (failed_) throw Abandoned{};
        if (open_barriers()) continue;
        if (spins)
            sched_yield();
        else if (returned < order.size())
            throw Error("its threads were told to end, and wait for each other for ever");
    }
}

bool Lanes::open_barriers() {
    bool opened = open({0, lanes_.size(), State::at_barrier});
    for (std::size_t first = 0; first < lanes_.size(); first += warp_lanes)
        if (open({first, std::min(first + warp_lanes, lanes_.size()), State::at_warp_barrier}))
            opened = true;
    return opened;
}

/// Have all come? Then they go on.
bool Lanes::open(const BarrierGroup& group) {
    const auto first = lanes_.begin() + static_cast<std::ptrdiff_t>(group.first);
    const auto last = lanes_.begin() + static_cast<std::ptrdiff_t>(group.last);
    const auto waits = [&](const Lane& lane) { return lane.state == group.waits; };
    const auto waiting = std::find_if(first, last, waits);
    if (waiting == last) return false;
    bool all = true;
    for (auto lane = first; lane != last; ++lane) {
        const bool here = waits(*lane) && (ending_ || lane->site == waiting->site);
        const bool gone = ending_ && lane->state == State::returned;
        if (here || gone) continue;
        all = false;
        const bool may_come = lane->state == State::runs || (group.waits == State::at_barrier &&
                                                             lane->state == State::at_warp_barrier);
        if (!may_come && !ending_)
            throw Error("a barrier that not all threads of a block come to: " + text(*waiting) +
                        ", " + text(*lane));
    }
    if (!all) return false;
    for (auto lane = first; lane != last; ++lane)
        if (waits(*lane)) lane->state = State::runs;
    return true;
}

std::string Lanes::text(const Lane& lane) const {
    const std::string name = "thread " + std::to_string(&lane - lanes_.data());
    if (lane.state == State::returned) return name + " has returned";
    const std::string_view file(lane.site.file);
    return name + " waits at " + std::string(file.substr(file.rfind('/') + 1)) + ":" +
           std::to_string(lane.site.line);
}

void Lanes::wait(State state, Site site) {
    const bool warp = state == State::at_warp_barrier;
    Lane& lane = lanes_[grid.lane];
    Lane& first = lanes_[warp ? grid.lane / warp_lanes * warp_lanes : 0];
    char* const place = &first.places[warp][lane.barriers[warp]++ % 2];
    publish(place);
    {
        const Unseen unseen;
        lane.state = state;
        lane.site = site;
    }
    lane.fiber->leave();
    observe(place);
}

void Lanes::pause() {
    if (lanes_.size() > 1) return lanes_[grid.lane].fiber->leave();
    sched_yield();
    if (failed_) throw Abandoned{};
}

}  // namespace wirespeed::cpu
