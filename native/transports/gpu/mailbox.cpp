#include "transports/gpu/mailbox.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"

namespace wirespeed {
namespace {

constexpr std::size_t most_ring = std::size_t{2} << 20, all_rings = std::size_t{64} << 20;

}  // namespace

Mailbox::Mailbox(Context& context, unsigned most_blocks)
    : context_(context),
      ring_bytes_(std::min(
          most_ring, all_rings / static_cast<std::size_t>(context.control.size()) / line * line)),
      words_bytes_((most_blocks * sizeof(std::uint32_t) + line - 1) / line * line),
      each_(2 * ring_bytes_ + 2 * words_bytes_ + 2 * line),
      opened_(static_cast<std::size_t>(context.control.size())) {
    const std::size_t bytes = each_ * opened_.size();
    handles_ = exchange(context.control, [&] {
        mine_ = Allocation(context.device, Memory::coherent, bytes);
        const std::vector<std::byte> zeros(each_);
        for (std::size_t at = 0; at < bytes; at += each_)
            context.device.copy(mine_.address() + at, zeros.data(), each_);
        return context.device.share(mine_.address());
    });
}

void Mailbox::raise(int peer, std::uint32_t sent, std::uint32_t received) {
    // Flags count what was received; ready_flags and credit, behind them, what was sent.
    std::vector<std::uint32_t> words((2 * words_bytes_ + line) / sizeof(std::uint32_t), sent);
    std::fill_n(words.begin(), words_bytes_ / sizeof(std::uint32_t), received);
    context_.device.copy(mine_.address() + each_ * static_cast<std::size_t>(peer) + ring_bytes_,
                         words.data(), words.size() * sizeof(std::uint32_t));
}

void Mailbox::close() {
    close_peers();
    context_.control.barrier();
    mine_ = {};
}

Mailbox::~Mailbox() {
    close_peers();
    mine_.hand_over();
}

void Mailbox::close_peers() noexcept {
    for (std::size_t rank = 0; rank < opened_.size(); ++rank) {
        if (!opened_[rank] || static_cast<int>(rank) == context_.control.rank()) continue;
        try {
            context_.device.close(opened_[rank]);
        } catch (const Error&) {
            // The process is ending.
        }
        opened_[rank] = nullptr;
    }
}

std::uint64_t Mailbox::part(int owner, int writer, std::size_t at) {
    auto& base = opened_.at(static_cast<std::size_t>(owner));
    if (!base)
        base = owner == context_.control.rank()
                   ? mine_.address()
                   : static_cast<std::byte*>(
                         context_.device.open(handles_.at(static_cast<std::size_t>(owner))));
    return reinterpret_cast<std::uint64_t>(base + each_ * static_cast<std::size_t>(writer) + at);
}

}  // namespace wirespeed
