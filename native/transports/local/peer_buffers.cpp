#include "transports/local/peer_buffers.hpp"

#include <unistd.h>

#include <array>
#include <cstring>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/segment.hpp"

namespace wirespeed {

PeerBuffers::PeerBuffers(Context& context, const std::string& path)
    : context_(context), path_(path) {
    const std::string kind = context.device.identity().kind;
    exchange(context.control, [&] {
        if (kind == "host")
            throw Unavailable(path + " moves data between GPUs, and this rank has none");
        return true;
    });
    here_ = same_host(context.control);
    if (context.option("within_hosts", "") == "True") return;
    exchange(context.control, [&] {
        for (std::size_t rank = 0; rank < here_.size(); ++rank) check_here(rank);
        return true;
    });
}

void PeerBuffers::check_here(std::size_t rank) const {
    if (!here_[rank])
        throw Unavailable(path_ + " works within one host; rank " + std::to_string(rank) +
                          " is on another (or sees another /dev/shm)");
}

PeerBuffers::~PeerBuffers() {
    for (auto& [address, opened] : all_) close(opened);
}

Buffers PeerBuffers::allocate(Memory kind, std::size_t bytes) {
    Buffers buffers;
    buffers.kind = buffers.into = kind;
    buffers.bytes = bytes;
    Allocation send, receive;
    Opened opened;
    opened.handles = exchange(context_.control, [&] {
        if (kind != Memory::device)
            throw Error("memory of another process can be opened where it is a GPU's only");
        send = Allocation::buffer(context_.device, kind, bytes);
        receive = Allocation::buffer(context_.device, kind, bytes);
        return Handles{context_.device.share(send.address()),
                       context_.device.share(receive.address())};
    });
    buffers.send = send.hand_over();
    buffers.receive = receive.hand_over();
    all_[buffers.send] = std::move(opened);
    return buffers;
}

void PeerBuffers::release(Buffers& buffers) {
    const Buffers mine = buffers;
    abandon(buffers);
    // Memory that a peer has still open may not be freed.
    context_.control.barrier();
    context_.device.release_guarded(mine.kind, mine.send);
    context_.device.release_guarded(mine.kind, mine.receive);
}

void PeerBuffers::abandon(Buffers& buffers) noexcept {
    const auto found = all_.find(buffers.send);
    if (found != all_.end()) {
        close(found->second);
        all_.erase(found);
    }
    buffers = {};
}

std::byte* PeerBuffers::send_of(const Buffers& buffers, int peer) {
    return reach(buffers, peer, true);
}

std::byte* PeerBuffers::receive_of(const Buffers& buffers, int peer) {
    return reach(buffers, peer, buffers.send == buffers.receive);
}

std::byte* PeerBuffers::reach(const Buffers& buffers, int peer, bool send) {
    // A process cannot open what is its own.
    if (peer == context_.control.rank()) return send ? buffers.send : buffers.receive;
    check_here(static_cast<std::size_t>(peer));
    Opened& opened = all_.at(buffers.send);
    auto& known = send ? opened.send : opened.receive;
    if (const auto found = known.find(peer); found != known.end()) return found->second;
    const Handles& handles = opened.handles.at(static_cast<std::size_t>(peer));
    auto* const address =
        static_cast<std::byte*>(context_.device.open(send ? handles.send : handles.receive));
    known[peer] = address;
    return address;
}

void PeerBuffers::close(Opened& opened) noexcept {
    for (auto* known : {&opened.send, &opened.receive})
        for (const auto& [peer, address] : *known) {
            try {
                context_.device.close(address);
            } catch (const Error&) {
                // The process is ending, or the device has failed: there is nothing left to do.
            }
        }
}

std::optional<SharedDevice> shared_device(Context& context) {
    struct DeviceIdentity {
        std::array<char, 64> id{};
        std::array<char, 65> host{};
        bool operator==(const DeviceIdentity&) const = default;
    };
    const auto names = exchange(context.control, [&] {
        DeviceIdentity name;
        context.device.identity().id.copy(name.id.data(), name.id.size() - 1);
        gethostname(name.host.data(), name.host.size() - 1);
        return name;
    });
    for (std::size_t one = 0; one < names.size(); ++one)
        for (std::size_t other = one + 1; other < names.size(); ++other)
            if (names[one] == names[other]) return SharedDevice{one, other, names[one].id.data()};
    return std::nullopt;
}

void refuse_shared_devices(Context& context, const std::string& path) {
    // For tests: slow, but right, where a driver lets the ranks' kernels take turns by force.
    if (context.option("share", "no") == "yes") return;
    const auto shared = shared_device(context);
    if (!shared) return;
    throw Unavailable("ranks " + std::to_string(shared->one) + " and " +
                      std::to_string(shared->other) + " share the GPU " + shared->id +
                      " and take turns on it: " + path +
                      "'s kernels wait for each other and must run together");
}

}  // namespace wirespeed
