// Calls of NVSHMEM enqueued in a stream of their own, for which the CPU waits.
#pragma once

#include <functional>
#include <memory>

#include "devices/device.hpp"
#include "libraries/nvshmem.hpp"
#include "measure/page.hpp"

namespace wirespeed::shmem {

class StreamCalls {
  public:
    StreamCalls(const Nvshmem& calls, Device& device, Page& page)
        : calls_(calls), page_(page), stream_(device.stream()), native_(stream_->native()),
          enqueue_(page.name("NVSHMEM call on a stream")),
          wait_(page.name("wait for NVSHMEM's stream")) {}

    void put(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t* word,
             std::uint64_t value, int peer) {
        page_.enter(enqueue_, peer);
        calls_.put_signal(to, from, bytes, word, value, Nvshmem::signal_set, peer, native_);
    }
    void signal(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(enqueue_, peer);
        calls_.signal(word, value, Nvshmem::signal_set, peer, native_);
    }
    void wait(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(enqueue_, peer);
        calls_.wait_signal(word, Nvshmem::compare_ge, value, native_);
    }
    /// One-sided, without a signal, complete at both ends once the stream has come past it.
    void move(bool get, std::byte* to, const std::byte* from, std::size_t bytes, int peer) {
        page_.enter(enqueue_, peer);
        (get ? calls_.get : calls_.put)(to, from, bytes, peer, native_);
        calls_.quiet(native_);
    }
    /// The library's number for how the call went.
    int together(const std::function<int(const Nvshmem&, Nvshmem::Stream)>& call) {
        page_.enter(enqueue_);
        return call(calls_, native_);
    }
    void finish(int peer) {
        page_.enter(wait_, peer);  // a stream does not say whom it waits for
        stream_->wait();
    }

  private:
    const Nvshmem& calls_;
    Page& page_;
    std::unique_ptr<Stream> stream_;
    void* native_;
    CallId enqueue_, wait_;
};

}  // namespace wirespeed::shmem
