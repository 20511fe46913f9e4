// One rank's part of a step of the ipc paths: who copies each message, and who tells whom.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "core/reached.hpp"
#include "transports/ipc/waiting_kernel.hpp"
#include "transports/lists.hpp"
#include "transports/local/copy_grid.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/flags.hpp"

namespace wirespeed::ipc {

/// What all steps of a transport share. Counts are of messages so far, by peer: the words that the
/// ranks raise for each other only grow.
struct Link {
    using Counts = std::vector<std::uint32_t>;

    explicit Link(Context& given)
        : context(given), flags(given), sent(static_cast<std::size_t>(given.control.size())),
          received(sent), invited(sent), allowed(sent),
          copying(given.page.name("copy between GPUs")),
          waiting(given.page.name("wait for the peer's word")) {
        const auto all = exchange(given.control, [&] {
            most_blocks = std::max(given.device.resident_blocks(), 1u);
            const std::vector<std::uint32_t> zeros(sent.size());
            const std::size_t bytes = zeros.size() * sizeof zeros[0];
            counters = Allocation(given.device, Memory::device, bytes);
            given.device.copy(counters.address(), zeros.data(), bytes);
            return most_blocks;
        });
        most_blocks = *std::min_element(all.begin(), all.end());
    }

    static std::uint32_t& of(Counts& counts, int peer) {
        return counts[static_cast<std::size_t>(peer)];
    }
    void wait(int peer, Flags::Kind kind, std::uint32_t value) {
        context.page.enter(waiting, peer);
        flags.wait(flags.word(context.control.rank(), peer, kind), value);
    }
    void signal(int peer, Flags::Kind kind, std::uint32_t value) {
        raise(flags.word(peer, context.control.rank(), kind), value);
    }
    /// One for each peer, so that it is signalled in order.
    Stream& stream(int peer) {
        auto& stream = streams[peer];
        if (!stream) stream = context.device.stream();
        return *stream;
    }

    Context& context;
    Flags flags;
    std::map<int, std::unique_ptr<Stream>> streams;
    Counts sent, received, invited, allowed;
    bool signals_from_stream = true;
    unsigned most_blocks = 1;
    Allocation counters;  ///< of kernels that copy, by peer; on the device
    CallId copying, waiting;
};

/// A copy between this rank's memory and a peer's: of a message, or of a list of blocks.
struct PeerCopy {
    int peer;
    std::byte *to, *from;
    std::size_t bytes;
    Stream* stream;
    std::shared_ptr<BlockList> list = nullptr;

    void start(const Link& link) const {
        link.context.page.enter(link.copying, peer);
        if (!list) {
            if (bytes) stream->copy(to, from, bytes);
        } else {
            list->start(*stream);
        }
    }
    /// By a kernel that raises `word` itself.
    void start_kernel(const Link& link, std::uint32_t* word, std::uint32_t number) const {
        link.context.page.enter(link.copying, peer);
        if (list) return start_list_kernel(link, word, number);
        const CopyGrid grid = copy_grid(bytes, link.most_blocks);
        std::uint64_t values[] = {reinterpret_cast<std::uint64_t>(to),
                                  reinterpret_cast<std::uint64_t>(from),
                                  bytes,
                                  reinterpret_cast<std::uint64_t>(word),
                                  number,
                                  reinterpret_cast<std::uint64_t>(link.counters.address()) +
                                      static_cast<std::uint64_t>(peer) * sizeof(std::uint32_t)};
        void* arguments[] = {&values[0], &values[1], &values[2],
                             &values[3], &values[4], &values[5]};
        stream->launch("ws_copy_and_signal", grid.blocks, grid.threads, arguments);
    }
    void start_list_kernel(const Link& link, std::uint32_t* word, std::uint32_t number) const {
        list->start_and_signal(*stream, reinterpret_cast<std::uint64_t>(word), number,
                               reinterpret_cast<std::uint64_t>(link.counters.address()) +
                                   static_cast<std::uint64_t>(peer) * sizeof(std::uint32_t));
    }
    void finish(const Link& link) const {
        link.context.page.enter(link.copying, peer);
        stream->wait();
    }
};

/// Who copies a message that the sender writes, and who raises the word.
enum class Writer { engine_then_stream, engine_then_host, kernel, waiting_kernel };

inline const char* name_of(Writer writer) {
    switch (writer) {
        case Writer::engine_then_stream:
            return "copy engine, completion signalled by the stream";
        case Writer::engine_then_host:
            return "copy engine, completion signalled by the host";
        case Writer::kernel:
            return "kernel";
        case Writer::waiting_kernel:
            return "kernel that waits for the host's word";
    }
    return "";
}

/// The sender writes. Where it could overwrite what is in use it waits until the receiver is at
/// this step.
class WriteStep final : public Action {
  public:
    WriteStep(Link& link, Writer writer, std::shared_ptr<WaitingKernel> kernel,
              std::vector<PeerCopy> sends, std::vector<int> receives, bool guarded)
        : link_(link), writer_(writer), kernel_(std::move(kernel)), sends_(std::move(sends)),
          receives_(std::move(receives)), guarded_(guarded), words_(sends_.size()),
          numbers_(sends_.size()) {
        if (writer == Writer::engine_then_host) return;
        const int me = link.context.control.rank();
        for (std::size_t i = 0; i < sends_.size(); ++i)
            words_[i] = link.flags.on_device(sends_[i].peer, me, Flags::arrived);
        if (!kernel_) return;
        for (std::size_t i = 0; i < sends_.size(); ++i)
            kernel_->add(sends_[i].peer, sends_[i].to, sends_[i].from, sends_[i].bytes, words_[i]);
    }

    void run() override {
        if (guarded_)
            for (const int peer : receives_)
                link_.signal(peer, Flags::taken, ++Link::of(link_.invited, peer));
        for (std::size_t i = 0; i < sends_.size(); ++i) {
            const PeerCopy& piece = sends_[i];
            if (guarded_)
                link_.wait(piece.peer, Flags::taken, ++Link::of(link_.allowed, piece.peer));
            numbers_[i] = ++Link::of(link_.sent, piece.peer);
            start(piece, words_[i], numbers_[i]);
        }
        if (writer_ == Writer::engine_then_host) finish_and_signal();
        for (const int peer : receives_)
            link_.wait(peer, Flags::arrived, ++Link::of(link_.received, peer));
        // The receivers know already: this only makes sure that the buffer is free.
        if (writer_ != Writer::engine_then_host)
            for (std::size_t i = 0; i < sends_.size(); ++i) finish(sends_[i], numbers_[i]);
    }

  private:
    void start(const PeerCopy& piece, std::uint32_t* word, std::uint32_t number) {
        if (kernel_) {
            link_.context.page.enter(link_.copying, piece.peer);
            kernel_->ring(piece.peer, number);
        } else if (writer_ == Writer::kernel) {
            piece.start_kernel(link_, word, number);
        } else {
            piece.start(link_);
            if (word) piece.stream->write_value(word, number);
        }
    }
    void finish(const PeerCopy& piece, std::uint32_t number) {
        if (!kernel_) return piece.finish(link_);
        link_.context.page.enter(link_.copying, piece.peer);
        kernel_->wait(piece.peer, number);
    }
    void finish_and_signal() {
        for (std::size_t i = 0; i < sends_.size(); ++i) {
            sends_[i].finish(link_);
            link_.signal(sends_[i].peer, Flags::arrived, numbers_[i]);
        }
    }

    Link& link_;
    Writer writer_;
    std::shared_ptr<WaitingKernel> kernel_;  ///< of that writer alone
    std::vector<PeerCopy> sends_;
    std::vector<int> receives_;
    bool guarded_;
    std::vector<std::uint32_t*> words_;
    std::vector<std::uint32_t> numbers_;
};

/// The receiver reads, once the sender says that its step has begun; the sender's step ends when it
/// is signalled that all has been read.
class ReadStep final : public Action {
  public:
    ReadStep(Link& link, std::vector<int> sends, std::vector<PeerCopy> receives)
        : link_(link), sends_(std::move(sends)), receives_(std::move(receives)) {}

    void run() override {
        for (const int peer : sends_)
            link_.signal(peer, Flags::arrived, ++Link::of(link_.sent, peer));
        for (const PeerCopy& piece : receives_) {
            link_.wait(piece.peer, Flags::arrived, ++Link::of(link_.received, piece.peer));
            piece.start(link_);
        }
        for (const PeerCopy& piece : receives_) {
            piece.finish(link_);
            link_.signal(piece.peer, Flags::taken, ++Link::of(link_.invited, piece.peer));
        }
        for (const int peer : sends_)
            link_.wait(peer, Flags::taken, ++Link::of(link_.allowed, peer));
    }

  private:
    Link& link_;
    std::vector<int> sends_;
    std::vector<PeerCopy> receives_;
};

}  // namespace wirespeed::ipc
