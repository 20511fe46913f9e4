// The peer's buffer, opened within one host: the sender writes into it, or the receiver reads from
// it, by a copy engine or by a kernel. A word in shared memory tells the other side: no message is
// part of the figure.
#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/reached.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/flags.hpp"
#include "transports/local/peer_buffers.hpp"
#include "transports/local/peer_offsets.hpp"

namespace wirespeed {
namespace {

/// What all steps of a transport share. Counts are of messages so far, by peer: the words that the
/// ranks raise for each other only grow.
struct Link {
    using Counts = std::vector<std::uint32_t>;

    explicit Link(Context& given)
        : context(given), flags(given), sent(static_cast<std::size_t>(given.control.size())),
          received(sent), invited(sent), allowed(sent),
          by_kernel(given.option("copy", "engine") == "kernel"),
          most_blocks(std::max(given.device.resident_blocks(), 1u)),
          copying(given.page.name(by_kernel ? "kernel that copies between GPUs"
                                            : "copy engine between GPUs")),
          waiting(given.page.name("wait for the peer's word")) {}

    static std::uint32_t& of(Counts& counts, int peer) {
        return counts[static_cast<std::size_t>(peer)];
    }
    void wait(int peer, Flags::Kind kind, std::uint32_t value) {
        context.page.enter(waiting, peer);
        flags.wait(flags.word(context.control.rank(), peer, kind), value);
    }
    void tell(int peer, Flags::Kind kind, std::uint32_t value) {
        raise(flags.word(peer, context.control.rank(), kind), value);
    }
    /// One for each peer, so that what is told to it is told in order.
    Stream& stream(int peer) {
        auto& stream = streams[peer];
        if (!stream) stream = context.device.stream();
        return *stream;
    }

    Context& context;
    Flags flags;
    std::map<int, std::unique_ptr<Stream>> streams;
    Counts sent, received, invited, allowed;
    bool by_kernel, tells_from_stream = true;
    unsigned most_blocks;
    CallId copying, waiting;
};

/// A copy between this rank's memory and a peer's.
struct Piece {
    int peer;
    std::byte *to, *from;
    std::size_t bytes;
    Stream* stream;

    void start(const Link& link) const {
        link.context.page.enter(link.copying, peer);
        if (!bytes) return;
        if (!link.by_kernel) return stream->copy(to, from, bytes);
        // Enough threads to keep the wire busy, few enough to start quickly.
        constexpr std::size_t threads = 512, each = 64;
        const auto blocks = static_cast<unsigned>(
            std::clamp<std::size_t>(bytes / (threads * each), 1, link.most_blocks));
        auto target = reinterpret_cast<std::uint64_t>(to),
             source = reinterpret_cast<std::uint64_t>(from), count = std::uint64_t{bytes};
        void* arguments[] = {&target, &source, &count};
        stream->launch("ws_copy_bytes", blocks, threads, arguments);
    }
    void finish(const Link& link) const {
        link.context.page.enter(link.copying, peer);
        stream->wait();
    }
};

/// The sender writes. Where one buffer serves both ways it waits until the receiver is at this
/// step: what lies there may still be on its way out.
class WriteStep final : public Action {
  public:
    WriteStep(Link& link, std::vector<Piece> sends, std::vector<int> receives, bool guarded)
        : link_(link), sends_(std::move(sends)), receives_(std::move(receives)), guarded_(guarded) {
        const int me = link.context.control.rank();
        if (link.tells_from_stream)
            for (const Piece& piece : sends_)
                words_.push_back(link.flags.on_device(piece.peer, me, Flags::arrived));
        numbers_.resize(sends_.size());
    }

    void run() override {
        if (guarded_)
            for (const int peer : receives_)
                link_.tell(peer, Flags::taken, ++Link::of(link_.invited, peer));
        for (std::size_t i = 0; i < sends_.size(); ++i) {
            const Piece& piece = sends_[i];
            if (guarded_)
                link_.wait(piece.peer, Flags::taken, ++Link::of(link_.allowed, piece.peer));
            numbers_[i] = ++Link::of(link_.sent, piece.peer);
            piece.start(link_);
            if (!words_.empty()) piece.stream->write_value(words_[i], numbers_[i]);
        }
        if (words_.empty())
            for (std::size_t i = 0; i < sends_.size(); ++i) {
                sends_[i].finish(link_);
                link_.tell(sends_[i].peer, Flags::arrived, numbers_[i]);
            }
        for (const int peer : receives_)
            link_.wait(peer, Flags::arrived, ++Link::of(link_.received, peer));
        // The receivers know already: this only makes sure that the buffer is free.
        if (!words_.empty())
            for (const Piece& piece : sends_) piece.finish(link_);
    }

  private:
    Link& link_;
    std::vector<Piece> sends_;
    std::vector<int> receives_;
    bool guarded_;
    std::vector<std::uint32_t*> words_;
    std::vector<std::uint32_t> numbers_;
};

/// The receiver reads, once the sender says that its step has begun; the sender's step ends when it
/// is told that all has been read.
class ReadStep final : public Action {
  public:
    ReadStep(Link& link, std::vector<int> sends, std::vector<Piece> receives)
        : link_(link), sends_(std::move(sends)), receives_(std::move(receives)) {}

    void run() override {
        for (const int peer : sends_)
            link_.tell(peer, Flags::arrived, ++Link::of(link_.sent, peer));
        for (const Piece& piece : receives_) {
            link_.wait(piece.peer, Flags::arrived, ++Link::of(link_.received, piece.peer));
            piece.start(link_);
        }
        for (const Piece& piece : receives_) {
            piece.finish(link_);
            link_.tell(piece.peer, Flags::taken, ++Link::of(link_.invited, piece.peer));
        }
        for (const int peer : sends_)
            link_.wait(peer, Flags::taken, ++Link::of(link_.allowed, peer));
    }

  private:
    Link& link_;
    std::vector<int> sends_;
    std::vector<Piece> receives_;
};

class IpcTransport final : public HostTransport {
  public:
    explicit IpcTransport(Context& context)
        : HostTransport(context), writes_(context.option("by", "write") == "write"),
          buffers_(context, writes_ ? "ipc-write" : "ipc-read"), link_(context) {
        if (writes_ || context.option("by", "") == "read") {
            link_.tells_from_stream = writes_ && all_streams_tell();
            return;
        }
        throw Error("ipc: by is write or read, not " + context.option("by", ""));
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        return buffers_.allocate(kind, bytes);
    }
    void release(Buffers& buffers) override { buffers_.release(buffers); }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const std::vector<Step> theirs = peer_offsets(context_.control, steps);
        std::vector<std::unique_ptr<Action>> round;
        exchange(context_.control, [&] {
            for (std::size_t i = 0; i < steps.size(); ++i)
                if (!steps[i].sends.empty() || !steps[i].receives.empty())
                    round.push_back(make(steps[i], theirs[i], buffers));
            return true;
        });
        return std::make_unique<HostProgram>(context_.page, std::move(round), align());
    }

    std::unique_ptr<Action> compile_step(const Step&, const Buffers&) override {
        throw Error("ipc carries whole programs only: it must know both ends of each transfer");
    }

    std::unique_ptr<Action> align() override { return std::make_unique<ControlAlign>(context_); }

    std::string describe() const override {
        return std::string("\"told by\": \"") +
               (link_.tells_from_stream ? "the stream" : "the host") + "\"";
    }

  private:
    /// Old drivers cannot: then the host waits for the copy and tells.
    bool all_streams_tell() {
        if (context_.option("tell", "stream") != "stream") return false;
        const int me = context_.control.rank();
        const auto all = exchange(context_.control, [&] {
            try {
                const auto stream = context_.device.stream();
                stream->write_value(link_.flags.on_device(me, me, Flags::arrived), 0);
                stream->wait();
                return true;
            } catch (const Unavailable&) {
                return false;
            }
        });
        return std::find(all.begin(), all.end(), false) == all.end();
    }

    std::unique_ptr<Action> make(const Step& step, const Step& theirs, const Buffers& buffers) {
        std::vector<Piece> pieces;
        std::vector<int> others;
        if (writes_) {
            for (std::size_t i = 0; i < step.sends.size(); ++i) {
                const Transfer& mine = step.sends[i];
                pieces.push_back(
                    {mine.peer, buffers_.receive_of(buffers, mine.peer) + theirs.sends[i].offset,
                     buffers.send + mine.offset, mine.bytes, &link_.stream(mine.peer)});
            }
            for (const Transfer& mine : step.receives) others.push_back(mine.peer);
            return std::make_unique<WriteStep>(link_, std::move(pieces), std::move(others),
                                               buffers.send == buffers.receive);
        }
        for (std::size_t i = 0; i < step.receives.size(); ++i) {
            const Transfer& mine = step.receives[i];
            pieces.push_back({mine.peer, buffers.receive + mine.offset,
                              buffers_.send_of(buffers, mine.peer) + theirs.receives[i].offset,
                              mine.bytes, &link_.stream(mine.peer)});
        }
        for (const Transfer& mine : step.sends) others.push_back(mine.peer);
        return std::make_unique<ReadStep>(link_, std::move(others), std::move(pieces));
    }

    bool writes_;
    PeerBuffers buffers_;
    Link link_;
};

const AddTransport add{"ipc", [](Context& context) -> std::unique_ptr<Transport> {
                           return std::make_unique<IpcTransport>(context);
                       }};

}  // namespace
}  // namespace wirespeed
