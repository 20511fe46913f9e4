// A transport moves bytes between ranks. It compiles a pattern's steps into a program; it knows no
// pattern and no payload.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "devices/work.hpp"
#include "measure/page.hpp"
#include "measure/program.hpp"
#include "transports/collective.hpp"

namespace wirespeed {

/// Bytes to or from one peer; `offset` counts from the start of the send or the receive buffer,
/// `remote_offset` from the start of the peer's receive or send buffer.
struct Transfer {
    int peer;
    std::size_t offset, bytes, remote_offset = 0;
    bool back = false;  ///< inside a rank: from its receive buffer to its send buffer
    /// Neighbours with the same number are blocks of one list, all of a size; 0: of none. A
    /// transport that takes no lists moves each by itself.
    int list = 0;
    bool operator==(const Transfer&) const = default;
};

/// Inside a step all transfers are in flight at once; the next step starts when they are done, and
/// the step's work too.
struct Step {
    std::vector<Transfer> sends, receives;
    std::vector<Work> meanwhile;  ///< needs nothing that the step receives
    std::vector<Work> after;      ///< follows what the step receives
    /// In place of both, by transports that can order kernels by flags: each has a first argument
    /// for a gate (kernels/gate.h).
    std::vector<Work> gated;
    /// What is sent goes before `meanwhile` begins, and what follows may begin while this step's
    /// work still runs: of gated work the next step, of `meanwhile` the transfers up to those of
    /// the next step with work.
    bool work_lags = false;
    bool ends_work = false;  ///< at its end all work that lags is done

    bool has_work() const { return !meanwhile.empty() || !after.empty() || ends_work; }
    bool has_transfers() const { return !sends.empty() || !receives.empty(); }
};

struct Buffers {
    std::byte* send = nullptr;
    std::byte* receive = nullptr;
    Memory kind = Memory::pageable;  ///< of the send buffer
    Memory into = Memory::pageable;  ///< of the receive buffer
    std::size_t bytes = 0;           ///< of each
    /// Work reads what has arrived while peers may be an iteration ahead.
    bool read_between = false;
    /// Of a soak: moves the same messages, one in a place, in the way that is to be checked.
    const Program* like = nullptr;

    /// Where work finds its data: kernels' places count from the receive buffer's start.
    Memory worked_on() const { return send == receive ? kind : into; }
};

/// Set-up traffic and stopping, by whatever started the ranks; never timed.
class Control {
  public:
    virtual ~Control() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual void allgather(const void* mine, void* all, std::size_t bytes_each) = 0;
    virtual void broadcast(void* data, std::size_t bytes, int root) = 0;
    virtual void barrier() = 0;
    /// TCP connections to these ranks, which ask for this one as well: descriptors, the caller's.
    virtual std::vector<int> connect(const std::vector<int>& peers) = 0;
};

class StartBoard;

/// Everything a transport is given.
struct Context {
    Control& control;
    Device& device;
    Page& page;
    std::map<std::string, std::string> options;
    std::shared_ptr<StartBoard> start_board = nullptr;  ///< null: ranks start by barriers

    std::string option(const std::string& name, const std::string& otherwise) const {
        auto found = options.find(name);
        return found == options.end() ? otherwise : found->second;
    }
    /// A whole number; throws Error, which says what is allowed.
    std::size_t number(const std::string& name, std::size_t otherwise, std::size_t least,
                       std::size_t most) const;
};

class StepTransport;

class Transport {
  public:
    explicit Transport(Context& context) : context_(context) {}
    /// Must not communicate, and frees only memory that no peer can access: a rank that ends early
    /// must not wait for others.
    virtual ~Transport() = default;

    /// The orderly end, before destruction. Every rank calls it, after all programs and buffers.
    virtual void close() {}
    /// The same, but what joins the ranks may stay for the next transport (kept.hpp).
    virtual void close_keeping() { close(); }

    /// Memory that this transport can move; plain device memory unless it needs its own. The option
    /// "into" says where the receive buffer lies, if elsewhere than `kind`.
    virtual Buffers allocate(Memory kind, std::size_t bytes);
    /// Can a transfer lie in any allocation, because its address is all that the transport is told?
    virtual bool by_address() const { return false; }
    /// Every rank calls it: memory that peers have opened is freed when all have closed it.
    virtual void release(Buffers& buffers) { abandon(buffers); }
    /// The end of buffers on this rank alone: what a peer may still reach is left as it is.
    virtual void abandon(Buffers& buffers) noexcept;

    /// Steps without work.
    virtual std::unique_ptr<Program> compile(std::span<const Step> steps,
                                             const Buffers& buffers) = 0;
    /// Steps with work. Without an idea of its own, a transport has a program for each run of steps
    /// up to the next work, and the CPU goes from one to the next. Every rank has as many steps.
    virtual std::unique_ptr<Program> compile_with_work(std::span<const Step> steps,
                                                       const Buffers& buffers);

    /// Does it take the launches that a step names to be ordered by flags (Step::gated)?
    virtual bool takes_gated_work() const { return false; }

    /// The library's own operation of all ranks, in one buffer. A transport that has one overrides
    /// it, and its paths say so (wirespeed/paths: `collectives`).
    virtual std::unique_ptr<Program> compile_collective(const Collective& collective,
                                                        const Buffers& buffers);

    /// Itself, where it can do a single step by the CPU; null where it cannot.
    virtual StepTransport* by_steps() { return nullptr; }

    /// What the transport found and chose, as JSON members ("\"protocol\": \"P2P\""), for the
    /// record.
    virtual std::string describe() const { return {}; }

  protected:
    Context& context_;
};

/// A transport whose iterations are run by the CPU.
class HostTransport : public Transport {
  public:
    using Transport::Transport;
    /// Lets the ranks start a batch together; null where the transport has no barrier of its own.
    virtual std::unique_ptr<StartLine> align() { return nullptr; }
    std::unique_ptr<Program> compile_with_work(std::span<const Step> steps,
                                               const Buffers& buffers) override {
        return compile(steps, buffers);
    }

  protected:
    using TransfersOf = std::function<std::unique_ptr<Action>(std::size_t step)>;
    /// All steps, each with its work. `worker`: does it; null: launches do.
    std::unique_ptr<Program> program_of(std::span<const Step> steps, const Buffers& buffers,
                                        const TransfersOf& transfers_of, std::string details = {},
                                        std::shared_ptr<Worker> worker = nullptr);
};

/// One that does step after step, knowing this rank's end of each alone.
class StepTransport : public HostTransport {
  public:
    using HostTransport::HostTransport;
    virtual std::unique_ptr<Action> compile_step(const Step& step, const Buffers& buffers) = 0;
    /// What it chooses for a program of these steps, as JSON members.
    virtual std::string details_of(std::span<const Step>) const { return {}; }
    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override;
    StepTransport* by_steps() final { return this; }
};

/// Each folder in native/transports adds its own with `AddTransport`.
using OpenTransport = std::unique_ptr<Transport> (*)(Context&);
struct AddTransport {
    AddTransport(const char* name, OpenTransport open);
};
template <class T> std::unique_ptr<Transport> open_as(Context& context) {
    return std::make_unique<T>(context);
}
/// Opens the transport called `name`; throws Error when there is none or it cannot be used here.
std::unique_ptr<Transport> open_transport(const std::string& name, Context& context);

}  // namespace wirespeed
