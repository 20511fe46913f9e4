// Transports whose buffers lie in a symmetric heap: memory that every rank has at the same place of
// its own heap, so that an address here also names the peers' memory.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/signalled.hpp"

namespace wirespeed {

/// Two buffers of the largest messages that anyone is likely to ask for.
constexpr std::size_t largest_heap = std::size_t{9} << 30;
/// Bytes of a rank's heap in host memory: all ranks' heaps together fit into half of it. It is
/// taken only when it is touched.
std::size_t host_heap_bytes(std::size_t ranks_here);

/// `Heap` is a library's own:
///     explicit Heap(Context&);                // every rank calls it
///     void close();                           // every rank calls it
///     void* allocate(std::size_t bytes);      // every rank calls it; null: no room
///     void release(void*);
///     using Calls = ...; Calls puts(Context&);             // of SignalledIterations
///     std::string describe() const;                        // JSON members, for the record
///     static constexpr Memory memory;                      // that it consists of
///     static constexpr const char *allocate_name, *release_name;     // of the library's calls
///     static constexpr const char *no_room, *only;         // errors; of memory of another kind
template <class Heap> class SymmetricTransport : public Transport {
  public:
    explicit SymmetricTransport(Context& context)
        : Transport(context), heap_(context),
          words_(symmetric(Signals::bytes(context.control.size()))),
          signals_(words_, context.control.rank(), context.control.size()) {
        // All words are zero before anyone signals.
        exchange(context.control, [&] {
            const std::vector<std::byte> zeros(Signals::bytes(context.control.size()));
            if (Heap::memory == Memory::device)
                context.device.copy(words_, zeros.data(), zeros.size());
            else
                std::memcpy(words_, zeros.data(), zeros.size());
            return true;
        });
    }

    void close() override {
        give_back(words_);
        heap_.close();
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        if (kind != Heap::memory) throw Unavailable(Heap::only);
        context_.device.enter();
        Buffers buffers;
        buffers.kind = kind;
        buffers.bytes = bytes;
        buffers.send = symmetric(bytes);
        try {
            buffers.receive = symmetric(bytes);
        } catch (...) {
            release(buffers);
            throw;
        }
        return buffers;
    }
    void release(Buffers& buffers) override {
        give_back(buffers.send);
        give_back(buffers.receive);
        buffers = {};
    }
    void abandon(Buffers& buffers) noexcept override { buffers = {}; }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const auto theirs = peer_offsets(context_.control, steps);
        const bool ready_notice = has_overwrite_hazard(context_.control, steps, buffers);
        auto iterations = std::make_unique<SignalledIterations<typename Heap::Calls>>(
            heap_.puts(context_), signals_, ready_notice);
        for (std::size_t i = 0; i < steps.size(); ++i)
            iterations->add(steps[i], theirs[i], buffers);
        return std::make_unique<DescribedProgram>(context_, std::move(iterations),
                                                  std::string("\"ready_notice\": ") +
                                                      (ready_notice ? "true" : "false") +
                                                      details(steps, buffers));
    }

    std::string describe() const override { return heap_.describe(); }

  protected:
    /// More of a program, as JSON members behind others.
    virtual std::string details(std::span<const Step>, const Buffers&) const { return {}; }

    Heap heap_;

  private:
    /// With guard_bytes() before and behind, as all memory for messages has.
    std::byte* symmetric(std::size_t bytes) {
        void* address = nullptr;
        context_.page.enter(context_.page.name(Heap::allocate_name));
        exchange(context_.control, [&] {
            address = heap_.allocate(bytes + 2 * guard_bytes(Memory::pageable));
            if (!address)
                throw Error(Heap::allocate_name, std::to_string(bytes) + " bytes", Heap::no_room);
            return true;
        });
        context_.page.leave();
        return static_cast<std::byte*>(address) + guard_bytes(Memory::pageable);
    }
    void give_back(std::byte* address) {
        if (!address) return;
        context_.page.enter(context_.page.name(Heap::release_name));
        heap_.release(address - guard_bytes(Memory::pageable));
        context_.page.leave();
    }

    std::byte* words_;
    Signals signals_;
};

}  // namespace wirespeed
