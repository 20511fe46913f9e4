#include "devices/host/thread_stream.hpp"

#include <utility>

#include "core/error.hpp"

namespace wirespeed::host {

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

void ThreadStream::launch(std::string_view, unsigned, unsigned, void**) {
    // Kernel arguments are read when the kernel runs; a caller's array may be gone by then.
    throw Error("this device runs kernels one at a time: use launch() of the device");
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
