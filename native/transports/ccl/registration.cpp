#include "transports/ccl/registration.hpp"

#include "core/error.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed::ccl {
namespace {

/// NCCL_WIN_REQUIRED_ALIGNMENT; ncclMemAlloc hands out whole pages.
constexpr std::size_t page = 4096;

}  // namespace

Registration::Registration(Communicator& communicator, Context& context, const std::string& kind)
    : communicator_(communicator), context_(context), calls_(communicator.calls()),
      symmetric_(kind == "symmetric") {
    if (!symmetric_ && kind != "registered")
        throw Error("buffers of NCCL are registered or symmetric, not '" + kind + "'");
    if (!calls_.allocate || !calls_.register_buffer)
        throw Unavailable("NCCL " + communicator.version() +
                          " registers no buffers; NCCL 2.19 and newer do");
    if (symmetric_ && !calls_.register_window)
        throw Unavailable("NCCL " + communicator.version() +
                          " has no symmetric windows; NCCL 2.27 and newer have");
}

Buffers Registration::allocate(std::size_t bytes) {
    const std::size_t whole = (bytes + page - 1) / page * page;
    Buffers buffers;
    buffers.kind = buffers.into = Memory::device;
    buffers.bytes = bytes;
    context_.page.enter(context_.page.name("ncclMemAlloc"));
    try {
        exchange(context_.control, [&] {
            context_.device.enter();
            buffers.send = allocated(whole);
            buffers.receive = allocated(whole);
            return true;
        });
        make_known(buffers.send, whole);
        make_known(buffers.receive, whole);
    } catch (...) {
        release(buffers);
        throw;
    }
    context_.page.leave();
    return buffers;
}

std::byte* Registration::allocated(std::size_t bytes) {
    void* address = nullptr;
    bytes += 2 * guard_bytes(Memory::device);
    communicator_.check(calls_.allocate(&address, bytes), "ncclMemAlloc",
                        std::to_string(bytes) + " bytes");
    return static_cast<std::byte*>(address) + guard_bytes(Memory::device);
}

/// Each buffer by itself: a window is made by all ranks together.
void Registration::make_known(std::byte* address, std::size_t bytes) {
    const char* const call = symmetric_ ? "ncclCommWindowRegister" : "ncclCommRegister";
    const Nccl::Comm comm = communicator_.handle();
    context_.page.enter(context_.page.name(call));
    exchange(context_.control, [&] {
        Nccl::Registration made = nullptr;
        const Nccl::Result code =
            symmetric_ ? calls_.register_window(comm, address, bytes, &made, Nccl::symmetric_window)
                       : calls_.register_buffer(comm, address, bytes, &made);
        communicator_.check(code, call,
                            std::to_string(bytes) + " bytes, NCCL " + communicator_.version());
        if (made) known_[address] = made;
        // It says so by a window that is none (github.com/NVIDIA/nccl/issues/1963).
        if (symmetric_ && !made)
            throw Unavailable("NCCL " + communicator_.version() +
                              " makes no symmetric window of these GPUs' memory");
        return true;
    });
}

void Registration::release(Buffers& buffers) {
    const Nccl::Comm comm = communicator_.handle();
    context_.page.enter(context_.page.name("ncclMemFree"));
    for (std::byte* const address : {buffers.send, buffers.receive}) {
        if (!address) continue;
        if (const auto found = known_.extract(address)) {
            if (symmetric_)
                communicator_.check(calls_.deregister_window(comm, found.mapped()),
                                    "ncclCommWindowDeregister");
            else
                communicator_.check(calls_.deregister_buffer(comm, found.mapped()),
                                    "ncclCommDeregister");
        }
        communicator_.check(calls_.release(address - guard_bytes(Memory::device)), "ncclMemFree");
    }
    context_.page.leave();
    buffers = {};
}

}  // namespace wirespeed::ccl
