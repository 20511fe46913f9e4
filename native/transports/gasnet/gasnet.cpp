// GASNet-EX between host buffers: a put, then a word behind it once the bytes have arrived.
#include <sched.h>

#include <atomic>

#include "transports/gasnet/session.hpp"
#include "transports/local/symmetric_heap.hpp"

namespace wirespeed {
namespace {

using gasnet::Session;

class GasnetCalls {
  public:
    GasnetCalls(const Session& session, Page& page)
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

class GasnetHeap {
  public:
    explicit GasnetHeap(Context& context) : session_(Session::of(context)) {}
    void close() {}
    void* allocate(std::size_t bytes) { return session_.allocate(bytes); }
    void release(void* address) { session_.release(static_cast<std::byte*>(address)); }

    using Calls = GasnetCalls;
    Calls puts(Context& context) const { return {session_, context.page}; }
    std::string describe() const {
        return std::string("\"library\": \"GASNet-EX ") + session_.calls().release() +
               "\", \"conduit\": \"" + session_.conduit() + "\"";
    }

    static constexpr Memory memory = Memory::pageable;
    static constexpr const char* only = "GASNet's segment is pageable host memory";
    static constexpr const char *allocate_name = "GASNet's segment", *release_name = allocate_name;
    static constexpr const char* no_room = "no room in it (GASNET_MAX_SEGSIZE sets its size)";

  private:
    Session& session_;
};

const AddTransport add_gasnet{"gasnet", open_as<SymmetricTransport<GasnetHeap>>};

}  // namespace
}  // namespace wirespeed
