#include "devices/host/thread_stream.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/reached.hpp"
#include "kernels/cpu.hpp"
#include "measure/clock.hpp"

namespace wirespeed::host {
namespace {

class ThreadEvent final : public Event {
  public:
    explicit ThreadEvent(ThreadStream& stream) : stream_(stream) {}

    void record() override {
        // A place of its own each time: the stream may still have the last one before it.
        place_ = std::make_shared<EventState>();
        stream_.enqueue([place = place_] {
            place->time = now();
            place->reached.store(true);
            place->reached.notify_all();
        });
    }
    bool reached() override { return place_->reached.load(); }
    void wait() override { place_->reached.wait(false); }
    /// Work that waits for the place as it is now.
    std::function<void()> waiting() const {
        return [place = place_] { place->reached.wait(false); };
    }
    double seconds_since(const Event& earlier) const override {
        return place_->time - static_cast<const ThreadEvent&>(earlier).place_->time;
    }
    double resolution() const override { return clock_resolution(); }

  private:
    struct EventState {
        double time = 0;
        std::atomic<bool> reached{false};
    };
    ThreadStream& stream_;
    std::shared_ptr<EventState> place_ = std::make_shared<EventState>();
};

}  // namespace

ThreadStream::ThreadStream(Device& device)
    : device_(device), thread_([this](std::stop_token stop) { serve(stop); }) {}

ThreadStream::~ThreadStream() {
    thread_.request_stop();
    changed_.notify_all();
}

void ThreadStream::enqueue(std::function<void()> work) {
    {
        std::lock_guard lock(mutex_);
        queue_.push_back(std::move(work));
    }
    changed_.notify_all();
}

void ThreadStream::copy(void* to, const void* from, std::size_t bytes) {
    enqueue([=, this] { device_.copy(to, from, bytes); });
}

void ThreadStream::copy_batch(CopyList& copies) {
    enqueue([this, copies] {
        for (std::size_t i = 0; i < copies.to.size(); ++i)
            device_.copy(copies.to[i], copies.from[i], copies.bytes[i]);
    });
}

void ThreadStream::launch(std::string_view kernel, unsigned blocks, unsigned threads,
                          void** arguments) {
    std::vector<std::uint64_t> values(cpu::argument_count(kernel));
    for (std::size_t i = 0; i < values.size(); ++i)
        std::memcpy(&values[i], arguments[i], sizeof values[i]);
    enqueue([=, this, name = std::string(kernel)]() mutable {
        std::vector<void*> pointers;
        for (auto& value : values) pointers.push_back(&value);
        device_.launch(name, blocks, threads, pointers.data());
    });
}

void ThreadStream::launch_work(std::string_view kernel, unsigned blocks, unsigned threads,
                               void** arguments) {
    launch(kernel, blocks, threads, arguments);
    enqueue([this] { device_.linger_after_work(); });
}

void ThreadStream::write_value(std::uint32_t* to, std::uint32_t value) {
    enqueue([=] { std::atomic_ref(*to).store(value, std::memory_order_release); });
}

void ThreadStream::wait_value(std::uint32_t* from, std::uint32_t value) {
    enqueue([=, this] {
        while (!reached(*from, value) && !thread_.get_stop_token().stop_requested())
            std::this_thread::yield();
    });
}

void ThreadStream::wait_for(const Event& event) {
    enqueue(static_cast<const ThreadEvent&>(event).waiting());
}

std::unique_ptr<Event> ThreadStream::event(bool) { return std::make_unique<ThreadEvent>(*this); }

bool ThreadStream::done() {
    std::unique_lock lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return queue_.empty() && !busy_;
}

void ThreadStream::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadStream::serve(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !queue_.empty(); })) {
        auto work = std::move(queue_.front());
        queue_.pop_front();
        busy_ = true;
        lock.unlock();
        try {
            work();
            lock.lock();
        } catch (...) {
            lock.lock();
            failure_ = std::current_exception();
        }
        busy_ = false;
        changed_.notify_all();
    }
}

}  // namespace wirespeed::host
