// Loads from another GPU's memory, one after the other: a thread of this rank's GPU follows a chain
// of links that lies there. The peer's GPU and CPU take no part.
#include <cmath>

#include "core/error.hpp"
#include "kernels/chase_types.h"
#include "transports/align.hpp"
#include "transports/load/chase.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/peer_buffers.hpp"

namespace wirespeed {
namespace {

/// The target waits until the origin has done its loads: the chain must stay until then.
class LoadProgram final : public Program {
  public:
    LoadProgram(Context& context, GpuClock clock, std::unique_ptr<Chase> chase)
        : page_(context.page), clock_(clock), chase_(std::move(chase)), barrier_(align(context)) {}

    void meet() override { barrier_->run(); }
    void begin(const Schedule& schedule) override { schedule_ = schedule; }
    Stamps settle() override {
        Stamps stamps = chase_ ? chase_->run(schedule_) : Stamps{};
        const std::string wrong = chase_ ? chase_->wrong() : "";
        const double done = now();
        barrier_->run();
        stamps.aside = now() - done;
        page_.leave();
        if (!wrong.empty()) throw Error(wrong);
        return stamps;
    }
    std::string describe() const override {
        return chase_ ? "\"links\": " + std::to_string(chase_->links()) : "";
    }
    ClockQuality clock() const override { return {clock_.step, clock_.step}; }

  private:
    Page& page_;
    GpuClock clock_;
    std::unique_ptr<Chase> chase_;  ///< at the origin
    std::unique_ptr<Action> barrier_;
    Schedule schedule_;
};

class LoadTransport final : public Transport {
  public:
    explicit LoadTransport(Context& context)
        : Transport(context), own_(context.option("of", "peer") == "own"),
          path_(own_ ? "gpu-load-own" : "gpu-load"),
          wrong_(context.number("wrong-link", ~u64{0}, 0, SIZE_MAX)), buffers_(context, path_),
          clock_(agreed_clock(context, agreed_facts(context), path_)) {}

    Buffers allocate(Memory kind, std::size_t bytes) override {
        return buffers_.allocate(kind, bytes);
    }
    void release(Buffers& buffers) override { buffers_.release(buffers); }
    void abandon(Buffers& buffers) noexcept override { buffers_.abandon(buffers); }

    /// A step's one transfer names the chain: the rank that receives it follows it.
    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const auto readers = exchange(context_.control, [&] {
            if (steps.size() != 1 || steps[0].sends.size() + steps[0].receives.size() != 1)
                throw Error(path_ + " does loads: wirespeed rma --operation load");
            if (steps[0].receives.empty()) return u64{0};
            return reinterpret_cast<u64>(
                own_ ? buffers.send : buffers_.send_of(buffers, steps[0].receives[0].peer));
        });
        const bool follows = !steps[0].receives.empty();
        const Transfer& chain = follows ? steps[0].receives[0] : steps[0].sends[0];
        const int reader = follows ? context_.control.rank() : chain.peer;
        const u64 address = readers[static_cast<std::size_t>(reader)];
        exchange(context_.control, [&] {
            if (follows == own_)
                write_chain(context_.device, buffers.send, address, chain.bytes, wrong_);
            return true;
        });
        std::unique_ptr<Program> program;
        exchange(context_.control, [&] {
            auto chase =
                follows ? std::make_unique<Chase>(context_, clock_, address, chain.bytes) : nullptr;
            program = std::make_unique<LoadProgram>(context_, clock_, std::move(chase));
            return true;
        });
        return program;
    }

    std::string describe() const override {
        return "\"clock_ns\": " + std::to_string(std::lround(1e9 * clock_.step)) +
               ", \"line_bytes\": " + std::to_string(WS_CHAIN_LINE);
    }

  private:
    static PlatformFacts agreed_facts(Context& context) {
        const auto all = exchange(context.control, [&] { return platform_facts(context.device); });
        return all[static_cast<std::size_t>(context.control.rank())];
    }

    bool own_;
    std::string path_;
    std::size_t wrong_;
    PeerBuffers buffers_;
    GpuClock clock_;
};

const AddTransport add_load{"load", open_as<LoadTransport>};

}  // namespace
}  // namespace wirespeed
