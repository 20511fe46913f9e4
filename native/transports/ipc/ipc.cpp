// The peer's buffer, opened within one host: the sender writes into it, or the receiver reads from
// it, by a copy engine or by a kernel. A word in shared memory signals completion: no message is
// part of the figure.
#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/reached.hpp"
#include "transports/align.hpp"
#include "transports/local/copy_grid.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/flags.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_buffers.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/trial_timing.hpp"

namespace wirespeed {
namespace {

/// What all steps of a transport share. Counts are of messages so far, by peer: the words that the
/// ranks raise for each other only grow.
struct Link {
    using Counts = std::vector<std::uint32_t>;

    explicit Link(Context& given)
        : context(given), flags(given), sent(static_cast<std::size_t>(given.control.size())),
          received(sent), invited(sent), allowed(sent),
          copying(given.page.name("copy between GPUs")),
          waiting(given.page.name("wait for the peer's word")) {
        exchange(given.control, [&] {
            most_blocks = std::max(given.device.resident_blocks(), 1u);
            const std::vector<std::uint32_t> zeros(sent.size());
            const std::size_t bytes = zeros.size() * sizeof zeros[0];
            counters = Allocation(given.device, Memory::device, bytes);
            given.device.copy(counters.address(), zeros.data(), bytes);
            return true;
        });
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

/// A copy between this rank's memory and a peer's.
struct Piece {
    int peer;
    std::byte *to, *from;
    std::size_t bytes;
    Stream* stream;

    void start(const Link& link) const {
        link.context.page.enter(link.copying, peer);
        if (bytes) stream->copy(to, from, bytes);
    }
    /// By a kernel that raises `word` itself.
    void start_kernel(const Link& link, std::uint32_t* word, std::uint32_t number) const {
        link.context.page.enter(link.copying, peer);
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
    void finish(const Link& link) const {
        link.context.page.enter(link.copying, peer);
        stream->wait();
    }
};

/// Who copies a message that the sender writes, and who raises the word.
enum class Writer { engine_then_stream, engine_then_host, kernel };

const char* name_of(Writer writer) {
    switch (writer) {
        case Writer::engine_then_stream:
            return "copy engine, completion signalled by the stream";
        case Writer::engine_then_host:
            return "copy engine, completion signalled by the host";
        case Writer::kernel:
            return "kernel";
    }
    return "";
}

/// The sender writes. Where it could overwrite what is in use it waits until the receiver is at
/// this step.
class WriteStep final : public Action {
  public:
    WriteStep(Link& link, Writer writer, std::vector<Piece> sends, std::vector<int> receives,
              bool guarded)
        : link_(link), writer_(writer), sends_(std::move(sends)), receives_(std::move(receives)),
          guarded_(guarded), words_(sends_.size()), numbers_(sends_.size()) {
        if (writer == Writer::engine_then_host) return;
        const int me = link.context.control.rank();
        for (std::size_t i = 0; i < sends_.size(); ++i)
            words_[i] = link.flags.on_device(sends_[i].peer, me, Flags::arrived);
    }

    void run() override {
        if (guarded_)
            for (const int peer : receives_)
                link_.signal(peer, Flags::taken, ++Link::of(link_.invited, peer));
        for (std::size_t i = 0; i < sends_.size(); ++i) {
            const Piece& piece = sends_[i];
            if (guarded_)
                link_.wait(piece.peer, Flags::taken, ++Link::of(link_.allowed, piece.peer));
            numbers_[i] = ++Link::of(link_.sent, piece.peer);
            if (writer_ == Writer::kernel) {
                piece.start_kernel(link_, words_[i], numbers_[i]);
            } else {
                piece.start(link_);
                if (words_[i]) piece.stream->write_value(words_[i], numbers_[i]);
            }
        }
        if (writer_ == Writer::engine_then_host) finish_and_signal();
        for (const int peer : receives_)
            link_.wait(peer, Flags::arrived, ++Link::of(link_.received, peer));
        // The receivers know already: this only makes sure that the buffer is free.
        if (writer_ != Writer::engine_then_host)
            for (const Piece& piece : sends_) piece.finish(link_);
    }

  private:
    void finish_and_signal() {
        for (std::size_t i = 0; i < sends_.size(); ++i) {
            sends_[i].finish(link_);
            link_.signal(sends_[i].peer, Flags::arrived, numbers_[i]);
        }
    }

    Link& link_;
    Writer writer_;
    std::vector<Piece> sends_;
    std::vector<int> receives_;
    bool guarded_;
    std::vector<std::uint32_t*> words_;
    std::vector<std::uint32_t> numbers_;
};

/// The receiver reads, once the sender says that its step has begun; the sender's step ends when it
/// is signalled that all has been read.
class ReadStep final : public Action {
  public:
    ReadStep(Link& link, std::vector<int> sends, std::vector<Piece> receives)
        : link_(link), sends_(std::move(sends)), receives_(std::move(receives)) {}

    void run() override {
        for (const int peer : sends_)
            link_.signal(peer, Flags::arrived, ++Link::of(link_.sent, peer));
        for (const Piece& piece : receives_) {
            link_.wait(piece.peer, Flags::arrived, ++Link::of(link_.received, piece.peer));
            piece.start(link_);
        }
        for (const Piece& piece : receives_) {
            piece.finish(link_);
            link_.signal(piece.peer, Flags::taken, ++Link::of(link_.invited, piece.peer));
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
            link_.signals_from_stream = writes_ && all_streams_signal();
            return;
        }
        throw Error("ipc: by is write or read, not " + context.option("by", ""));
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        return buffers_.allocate(kind, bytes);
    }
    void release(Buffers& buffers) override { buffers_.release(buffers); }
    void abandon(Buffers& buffers) noexcept override { buffers_.abandon(buffers); }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const std::vector<Step> theirs = peer_offsets(context_.control, steps);
        const std::vector<Writer> writers = candidates(steps);
        const bool guarded = writes_ && has_overwrite_hazard(context_.control, steps, buffers);
        std::unique_ptr<Program> best;
        double least = 0;
        for (const Writer writer : writers) {
            auto program = make_program(writer, steps, theirs, buffers, guarded);
            if (writers.size() == 1) return program;
            const double seconds = trial_seconds(context_.control, *program);
            // Ways that are as good as each other are not to change from size to size.
            if (best && seconds >= 0.98 * least) continue;
            best = std::move(program);
            least = seconds;
        }
        return best;
    }

    std::unique_ptr<Action> compile_step(const Step&, const Buffers&) override {
        throw Error("ipc compiles whole programs only: it must know both ends of each transfer");
    }

    std::unique_ptr<Action> align() override { return std::make_unique<ControlAlign>(context_); }

  private:
    /// The writers worth trying; for large messages nothing comes near a copy engine.
    std::vector<Writer> candidates(std::span<const Step> steps) {
        constexpr std::size_t small = 512 << 10;
        std::size_t mine = 0;
        for (const Step& step : steps)
            for (const Transfer& transfer : step.sends) mine = std::max(mine, transfer.bytes);
        const auto all = exchange(context_.control, [&] { return mine; });
        const Writer engine =
            link_.signals_from_stream ? Writer::engine_then_stream : Writer::engine_then_host;
        const std::string copy = context_.option("copy", "auto");
        if (!writes_ || copy == "engine") return {engine};
        if (copy == "kernel") return {Writer::kernel};
        if (*std::max_element(all.begin(), all.end()) > small) return {engine};
        if (engine == Writer::engine_then_host) return {engine, Writer::kernel};
        return {engine, Writer::engine_then_host, Writer::kernel};
    }

    std::unique_ptr<Program> make_program(Writer writer, std::span<const Step> steps,
                                          std::span<const Step> theirs, const Buffers& buffers,
                                          bool guarded) {
        std::string by =
            writes_ ? name_of(writer) : "copy engine, completion signalled by the host";
        if (!carries_bytes(steps)) by = "nothing to copy";
        std::unique_ptr<Program> program;
        exchange(context_.control, [&] {
            program = program_of(
                steps, buffers,
                [&](std::size_t i) { return make(writer, steps[i], theirs[i], buffers, guarded); },
                "\"copied by\": \"" + by + "\"");
            return true;
        });
        return program;
    }

    static bool carries_bytes(std::span<const Step> steps) {
        const auto has_bytes = [](const Transfer& transfer) { return transfer.bytes > 0; };
        return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
            return std::any_of(step.sends.begin(), step.sends.end(), has_bytes) ||
                   std::any_of(step.receives.begin(), step.receives.end(), has_bytes);
        });
    }

    /// Old drivers cannot: then the host waits for the copy and signals.
    bool all_streams_signal() {
        if (context_.option("signal", "stream") != "stream") return false;
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

    std::unique_ptr<Action> make(Writer writer, const Step& step, const Step& theirs,
                                 const Buffers& buffers, bool guarded) {
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
            return std::make_unique<WriteStep>(link_, writer, std::move(pieces), std::move(others),
                                               guarded);
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

const AddTransport add{"ipc", open_as<IpcTransport>};

}  // namespace
}  // namespace wirespeed
