// A stream for devices whose copies and kernels are done by the CPU: a thread that works in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "devices/device.hpp"

namespace wirespeed::host {

class ThreadStream : public Stream {
  public:
    explicit ThreadStream(Device& device);
    ~ThreadStream() override;
    void copy(void* to, const void* from, std::size_t bytes) override;
    void copy_batch(CopyList& copies) override;
    void launch(std::string_view kernel, unsigned blocks, unsigned threads,
                void** arguments) override;
    void launch_work(std::string_view kernel, unsigned blocks, unsigned threads,
                     void** arguments) override;
    void write_value(std::uint32_t* to, std::uint32_t value) override;
    void wait_value(std::uint32_t* from, std::uint32_t value) override;
    void wait_for(const Event& event) override;
    bool done() override;
    /// Throws what the work threw.
    void wait() override;
    std::unique_ptr<Event> event(bool timed) override;

    void enqueue(std::function<void()> work);

  private:
    void serve(std::stop_token stop);

    Device& device_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> queue_;
    bool busy_ = false;
    std::exception_ptr failure_;
    std::jthread thread_;
};

}  // namespace wirespeed::host
