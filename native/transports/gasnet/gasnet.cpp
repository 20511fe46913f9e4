// GASNet-EX between host buffers: a put, then a word behind it once the bytes have arrived.
#include <sched.h>

#include <atomic>
#include <cstring>

#include "core/error.hpp"
#include "transports/gasnet/session.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/signalled.hpp"

namespace wirespeed {
namespace {

using gasnet::Session;

class HostCalls {
  public:
    HostCalls(const Session& session, Page& page)
        : session_(session), calls_(session.calls()), page_(page), put_(page.name("gex_RMA_PutNB")),
          set_(page.name("gex_RMA_PutNBVal")), arrive_(page.name("gex_Event_Wait")),
          wait_(page.name("gasnet_AMPoll until the signal")),
          quiet_(page.name("gex_Event_Wait of signals")) {}

    void put(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t* word,
             std::uint64_t value, int peer) {
        page_.enter(put_, peer);
        calls_.put(session_.at(to, peer), const_cast<std::byte*>(from), bytes,
                   session_.at(word, peer), value, peer);
    }
    void signal(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(set_, peer);
        calls_.signal(session_.at(word, peer), value, peer);
    }
    void wait(std::uint64_t* word, std::uint64_t value, int peer) {
        page_.enter(arrive_, peer);
        calls_.flush();
        page_.enter(wait_, peer);
        std::atomic_ref<std::uint64_t> seen(*word);
        for (unsigned turns = 0; seen.load(std::memory_order_acquire) < value; ++turns) {
            calls_.poll();
            if (turns > patience) sched_yield();
        }
    }
    void finish(int peer) {
        page_.enter(quiet_, peer);
        calls_.quiet();
    }

  private:
    static constexpr unsigned patience = 200;
    const Session& session_;
    const Gasnet& calls_;
    Page& page_;
    CallId put_, set_, arrive_, wait_, quiet_;
};

class GasnetTransport final : public Transport {
  public:
    explicit GasnetTransport(Context& context)
        : Transport(context), session_(Session::of(context)),
          words_(symmetric(Signals::bytes(context.control.size()))),
          signals_(words_, context.control.rank(), context.control.size()) {
        std::memset(words_, 0, Signals::bytes(context.control.size()));
        context.control.barrier();  // nobody signals before
    }

    void close() override { session_.release(words_); }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        if (kind != Memory::pageable) throw Unavailable("GASNet's segment is pageable host memory");
        Buffers buffers;
        buffers.kind = kind;
        buffers.bytes = bytes;
        buffers.send = symmetric(bytes);
        try {
            buffers.receive = symmetric(bytes);
        } catch (...) {
            session_.release(buffers.send);
            throw;
        }
        return buffers;
    }

    void release(Buffers& buffers) override {
        for (std::byte* const base : {buffers.send, buffers.receive})
            if (base) session_.release(base);
        buffers = {};
    }
    void abandon(Buffers& buffers) noexcept override { buffers = {}; }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const auto theirs = peer_offsets(context_.control, steps);
        const bool ready_notice = has_overwrite_hazard(context_.control, steps, buffers);
        auto iterations = std::make_unique<SignalledIterations<HostCalls>>(
            HostCalls(session_, context_.page), signals_, ready_notice);
        for (std::size_t i = 0; i < steps.size(); ++i)
            iterations->add(steps[i], theirs[i], buffers);
        return std::make_unique<DescribedProgram>(
            context_, std::move(iterations),
            std::string("\"ready_notice\": ") + (ready_notice ? "true" : "false"));
    }

    std::string describe() const override {
        return std::string("\"library\": \"GASNet-EX ") + session_.calls().release() +
               "\", \"conduit\": \"" + session_.conduit() + "\"";
    }

  private:
    std::byte* symmetric(std::size_t bytes) {
        std::byte* address = nullptr;
        exchange(context_.control, [&] {
            address = session_.allocate(bytes);
            if (!address)
                throw Error("no room for " + std::to_string(bytes) +
                            " bytes in GASNet's segment (GASNET_MAX_SEGSIZE sets its size)");
            return true;
        });
        return address;
    }

    Session& session_;
    std::byte* words_;
    Signals signals_;
};

const AddTransport add_gasnet{"gasnet", open_as<GasnetTransport>};

}  // namespace
}  // namespace wirespeed
