#include "devices/device.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/helpers.hpp"
#include "kernels/cpu.hpp"

namespace wirespeed {
namespace {

std::vector<DeviceKind>& kinds() {
    static std::vector<DeviceKind> all;
    return all;
}

constexpr unsigned payload_blocks = 528, payload_threads = 256;

/// One block of a grid does a whole piece.
constexpr std::uint64_t largest_piece = 64 << 10;

/// Pieces that are no larger than that, and where the last one ends.
struct CutPieces {
    explicit CutPieces(std::span<const Piece> pieces) : all(cut(pieces, largest_piece)) {
        for (const Piece& piece : pieces) {
            end = std::max<std::size_t>(end, piece.at + piece.bytes);
            sum += piece.bytes;
        }
    }
    /// On a device, where its kernels read them.
    Allocation on(Device& device) const {
        Allocation copy(device, Memory::device, all.size() * sizeof(Piece));
        device.copy(copy.address(), all.data(), copy.bytes());
        return copy;
    }

    std::vector<Piece> all;
    std::size_t end = 0, sum = 0;
};

}  // namespace

std::vector<Piece> cut(std::span<const Piece> pieces, std::uint64_t longest) {
    std::vector<Piece> found;
    for (Piece piece : pieces)
        for (std::uint64_t left = piece.bytes; left > 0; left -= piece.bytes) {
            piece.bytes = std::min(left, longest);
            found.push_back(piece);
            piece.at += piece.bytes;
            piece.content += piece.bytes;
        }
    return found;
}

Memory memory_from(std::string_view word) {
    if (word == "pageable") return Memory::pageable;
    if (word == "pinned") return Memory::pinned;
    if (word == "device") return Memory::device;
    if (word == "managed") return Memory::managed;
    if (word == "managed-host") return Memory::managed_host;
    throw Error("memory is pageable, pinned, device, managed or managed-host, not '" +
                std::string(word) + "'");
}

std::size_t guard_bytes(Memory kind) {
    static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return on_host(kind) ? std::max<std::size_t>(page, 4096) : 2UL << 20;
}

const std::vector<DeviceKind>& device_kinds() { return kinds(); }

AddDevices::AddDevices(DeviceKind kind) { kinds().push_back(std::move(kind)); }

std::unique_ptr<Graph> Stream::capture(const std::function<void()>&) {
    throw Unavailable("work of this device's streams cannot be captured");
}

std::unique_ptr<Allocator> Device::allocator(std::string_view name) {
    throw Unavailable(identity().kind + " devices have no allocator '" + std::string(name) + "'");
}

void refuse_current(DeviceContext context, const std::string& kind) {
    if (context == DeviceContext::current)
        throw Unavailable("--context own: " + kind +
                          " devices have no contexts; leave it out, or use --device cuda");
}

void Device::watch_copies(bool) { throw Unavailable("nothing counts this device's copies"); }

void Device::fill(Memory kind, void* address, std::size_t bytes, std::uint64_t seed,
                  std::uint8_t tag) {
    if (bytes == 0) return;
    if (!on_host(kind) && !has_kernels()) {
        std::vector<std::byte> content(bytes);
        fill(Memory::pageable, content.data(), bytes, seed, tag);
        return copy(address, content.data(), bytes);
    }
    std::uint64_t count = bytes, tags = tag;
    void* arguments[] = {&address, &count, &seed, &tags};
    run_or_launch(kind, "ws_payload_fill", bytes, arguments);
}

/// The CPU does it by a thread for each block, as `bytes` are worth.
void Device::run_or_launch(Memory kind, const char* kernel, std::size_t bytes, void** arguments) {
    if (on_host(kind))
        with_helpers(bytes, [&](unsigned threads) { cpu::run(kernel, {threads}, arguments); });
    else
        launch(kernel, payload_blocks, payload_threads, arguments);
}

void Device::fill_pieces(Memory kind, void* pool, std::span<const Piece> pieces, std::uint64_t seed,
                         std::uint8_t tag) {
    CutPieces cut(pieces);
    if (cut.all.empty()) return;
    if (!on_host(kind) && !has_kernels()) {
        std::vector<std::byte> content(cut.end);
        copy(content.data(), pool, cut.end);
        fill_pieces(Memory::pageable, content.data(), pieces, seed, tag);
        return copy(pool, content.data(), cut.end);
    }
    const Allocation there = on_host(kind) ? Allocation() : cut.on(*this);
    void* list = on_host(kind) ? static_cast<void*>(cut.all.data()) : there.address();
    std::uint64_t count = cut.all.size(), tags = tag;
    void* arguments[] = {&pool, &list, &count, &seed, &tags};
    run_or_launch(kind, "ws_pieces_fill", cut.sum, arguments);
}

std::uint64_t Device::check_pieces(Memory kind, const void* pool, std::span<const Piece> pieces,
                                   std::uint64_t seed, std::uint8_t tag) {
    CutPieces cut(pieces);
    if (cut.all.empty()) return all_right;
    if (!on_host(kind) && !has_kernels()) {
        std::vector<std::byte> content(cut.end);
        copy(content.data(), pool, cut.end);
        return check_pieces(Memory::pageable, content.data(), pieces, seed, tag);
    }
    const Allocation there = on_host(kind) ? Allocation() : cut.on(*this);
    void* list = on_host(kind) ? static_cast<void*>(cut.all.data()) : there.address();
    std::uint64_t count = cut.all.size(), tags = tag;
    const auto call = [&](void* result, const auto& run) {
        void* arguments[] = {&pool, &list, &count, &seed, &tags, &result};
        run(arguments);
    };
    return first_wrong(kind, "ws_pieces_check", cut.sum, all_right, call);
}

void Device::fill_sums(Memory kind, void* address, std::size_t bytes, double start) {
    std::uint64_t count = bytes / sizeof(double);
    void* arguments[] = {&address, &count, &start};
    if (count) run_or_launch(kind, "ws_sums_fill", bytes, arguments);
}

std::size_t Device::check_sums(Memory kind, const void* address, std::size_t bytes, double start) {
    std::uint64_t count = bytes / sizeof(double);
    if (!count) return 0;
    return first_wrong(kind, "ws_sums_check", bytes, count, [&](void* result, const auto& run) {
        void* arguments[] = {&address, &count, &start, &result};
        run(arguments);
    });
}

std::size_t Device::check(Memory kind, const void* address, std::size_t bytes, std::uint64_t seed,
                          std::uint8_t tag) {
    if (bytes == 0) return 0;
    if (!on_host(kind) && !has_kernels()) {
        std::vector<std::byte> content(bytes);
        copy(content.data(), address, bytes);
        return check(Memory::pageable, content.data(), bytes, seed, tag);
    }
    std::uint64_t count = bytes, tags = tag;
    return first_wrong(kind, "ws_payload_check", bytes, count, [&](void* result, const auto& run) {
        void* arguments[] = {&address, &count, &seed, &tags, &result};
        run(arguments);
    });
}

/// What a checking kernel leaves in a word that begins as `none`; `call` gives it its arguments.
std::size_t Device::first_wrong(Memory kind, const char* kernel, std::size_t bytes,
                                std::uint64_t none, const CheckLaunch& call) {
    const auto run = [&](void** arguments) { run_or_launch(kind, kernel, bytes, arguments); };
    std::uint64_t first = none;
    if (on_host(kind)) {
        call(&first, run);
        return first;
    }
    Allocation found(*this, Memory::device, sizeof first);
    copy(found.address(), &first, sizeof first);
    call(found.address(), run);
    copy(&first, found.address(), sizeof first);
    return first;
}

}  // namespace wirespeed
