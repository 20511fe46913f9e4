// TCP sockets between host buffers, without any library: what the kernel's network stack costs.
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/align.hpp"
#include "transports/tcp/connections.hpp"

namespace wirespeed {
namespace {

using namespace tcp;

/// Bytes on their way through one connection in one direction, in order.
class Flow {
  public:
    Flow(int descriptor, int peer, bool sends)
        : descriptor_(descriptor), peer_(peer), sends_(sends) {}

    /// A message without bytes is one byte: its arrival must be noticed.
    void add(std::byte* address, std::size_t bytes) {
        parts_.push_back(bytes ? Part{address, bytes} : Part{&nothing_, 1});
    }
    void start() { part_ = done_ = 0; }
    int peer() const { return peer_; }

    /// Moves what can be moved now. True when all is done.
    bool progress() {
        while (part_ < parts_.size()) {
            const Part& part = parts_[part_];
            const std::size_t left = part.bytes - done_;
            const ssize_t moved =
                sends_ ? send(descriptor_, part.address + done_, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                       : recv(descriptor_, part.address + done_, left, MSG_DONTWAIT);
            if (moved > 0) {
                done_ += static_cast<std::size_t>(moved);
                if (done_ < part.bytes) continue;
                done_ = 0;
                ++part_;
            } else if (moved < 0 && (errno == EAGAIN || errno == EINTR)) {
                return false;
            } else {
                throw Error(sends_ ? "send" : "recv",
                            std::to_string(left) + " bytes, peer " + std::to_string(peer_),
                            moved ? std::strerror(errno) : "the peer has closed the connection");
            }
        }
        return true;
    }

  private:
    struct Part {
        std::byte* address;
        std::size_t bytes;
    };
    static inline std::byte nothing_{};

    int descriptor_, peer_;
    bool sends_;
    std::vector<Part> parts_;
    std::size_t part_ = 0, done_ = 0;
};

/// All flows of a step at once.
class TcpStep final : public Action {
  public:
    TcpStep(Page& page, std::vector<Flow> flows, const char* call = "send and recv (TCP)")
        : page_(page), flows_(std::move(flows)), call_(page.name(call)) {}

    void run() override {
        for (Flow& flow : flows_) flow.start();
        for (unsigned turns = 0; !turn(); ++turns)
            if (turns > patience) sched_yield();
    }

  private:
    static constexpr unsigned patience = 200;

    bool turn() {
        for (Flow& flow : flows_) {
            if (flow.progress()) continue;
            page_.enter(call_, flow.peer());
            for (Flow& other : flows_)
                if (&other != &flow) other.progress();
            return false;
        }
        return true;
    }

    Page& page_;
    std::vector<Flow> flows_;
    CallId call_;
};

/// A word to a rank further and further on, until each has heard of all.
class TcpBarrier final : public Action {
  public:
    TcpBarrier(Page& page, Control& control, const Connections& connections) {
        for (int far = 1; far < control.size(); far *= 2) {
            const int to = (control.rank() + far) % control.size();
            const int from = (control.rank() - far + control.size()) % control.size();
            std::vector<Flow> flows;
            flows.emplace_back(connections.to(to), to, true).add(nullptr, 0);
            flows.emplace_back(connections.to(from), from, false).add(nullptr, 0);
            rounds_.emplace_back(page, std::move(flows), "barrier before a batch (TCP)");
        }
    }
    void run() override {
        for (TcpStep& round : rounds_) round.run();
    }

  private:
    std::vector<TcpStep> rounds_;
};

class TcpTransport final : public StepTransport {
  public:
    explicit TcpTransport(Context& context)
        : StepTransport(context), connections_(context.control) {
        const int size = context.control.size(), rank = context.control.rank();
        std::set<int> peers;
        for (int far = 1; far < size; far *= 2)
            peers.insert({(rank + far) % size, (rank - far + size) % size});
        connections_.add(peers);
    }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        std::set<int> peers;
        for (const Step& step : steps)
            for (const auto* transfers : {&step.sends, &step.receives})
                for (const Transfer& transfer : *transfers) peers.insert(transfer.peer);
        connections_.add(peers);
        return StepTransport::compile(steps, buffers);
    }

    std::unique_ptr<Action> compile_step(const Step& step, const Buffers& buffers) override {
        std::map<int, Flow> sends, receives;
        for (const Transfer& t : step.receives)
            receives.try_emplace(t.peer, connections_.to(t.peer), t.peer, false)
                .first->second.add(buffers.receive + t.offset, t.bytes);
        for (const Transfer& t : step.sends)
            sends.try_emplace(t.peer, connections_.to(t.peer), t.peer, true)
                .first->second.add(buffers.send + t.offset, t.bytes);
        std::vector<Flow> flows;
        for (auto* direction : {&sends, &receives})
            for (auto& [peer, flow] : *direction) flows.push_back(std::move(flow));
        return std::make_unique<TcpStep>(context_.page, std::move(flows));
    }

    /// Bytes move on by themselves: ranks of one host need no messages to meet.
    std::unique_ptr<StartLine> align() override {
        std::unique_ptr<Action> barrier;
        if (!can_agree(context_))
            barrier = std::make_unique<TcpBarrier>(context_.page, context_.control, connections_);
        return wirespeed::align(context_, std::move(barrier));
    }

    bool by_address() const override { return true; }
    std::string describe() const override {
        return "\"address\": " + json_text(connections_.address());
    }

  private:
    Connections connections_;
};

const AddTransport add_tcp{"tcp", open_as<TcpTransport>};

}  // namespace
}  // namespace wirespeed
