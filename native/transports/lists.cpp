#include "transports/lists.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "transports/local/described.hpp"

namespace wirespeed {
namespace {

constexpr unsigned copy_blocks = 264;

/// Messages one behind the other, aligned as a kernel copies fastest.
constexpr std::size_t alignment = 256;

/// What becomes of one side of a step: a message for each list, and where its blocks lie.
struct PackedMessages {
    /// `gathers`: from the pool into the message; else back.
    PackedMessages(std::span<const Transfer> transfers, bool gathers) {
        for (const auto list : lists_of(transfers)) {
            std::size_t bytes = 0;
            for (const Transfer& block : list) {
                const std::uint64_t at = end + bytes;
                pieces.push_back(gathers ? Piece{at, block.offset, block.bytes}
                                         : Piece{block.offset, at, block.bytes});
                bytes += block.bytes;
            }
            messages.push_back({list.front().peer, end, bytes});
            end += (bytes + alignment - 1) / alignment * alignment;
        }
    }
    std::vector<Transfer> messages;
    std::vector<Piece> pieces;
    std::size_t end = 0;
};

}  // namespace

std::vector<std::span<const Transfer>> lists_of(std::span<const Transfer> transfers) {
    std::vector<std::span<const Transfer>> found;
    while (!transfers.empty()) {
        const int list = transfers.front().list;
        const auto other =
            std::find_if(transfers.begin() + 1, transfers.end(),
                         [&](const auto& each) { return !list || each.list != list; });
        const auto count = static_cast<std::size_t>(other - transfers.begin());
        found.push_back(transfers.first(count));
        transfers = transfers.subspan(count);
    }
    return found;
}

std::vector<Step> with_whole_lists(std::span<const Step> steps, std::span<const Step> grouped) {
    const auto whole = [](const std::vector<Transfer>& transfers, std::span<const Transfer> as) {
        std::vector<Transfer> found;
        const Transfer* next = transfers.data();
        for (const auto list : lists_of(as)) {
            const std::span blocks(next, list.size());
            next += list.size();
            Transfer all = blocks.front();
            std::size_t end = 0;
            for (const Transfer& block : blocks) {
                all.offset = std::min(all.offset, block.offset);
                all.remote_offset = std::min(all.remote_offset, block.remote_offset);
                end = std::max(end, block.offset + block.bytes);
            }
            all.bytes = end - all.offset;
            found.push_back(all);
        }
        return found;
    };
    std::vector<Step> found(steps.begin(), steps.end());
    for (std::size_t s = 0; s < found.size(); ++s) {
        found[s].sends = whole(steps[s].sends, grouped[s].sends);
        found[s].receives = whole(steps[s].receives, grouped[s].receives);
    }
    return found;
}

unsigned multiprocessors(const Context& context, unsigned most) {
    return static_cast<unsigned>(context.number("multiprocessors", most, 1, most));
}

PieceTable::PieceTable(Device& device, std::span<const Piece> pieces, unsigned most_blocks) {
    // A thread loads eight times 16 bytes at once, and a block has two teams at least.
    constexpr std::size_t of_thread = 128, longest = threads / 2 * of_thread;
    std::vector<Piece> parts = cut(pieces, longest);
    if (parts.empty()) return;
    const std::size_t largest = std::ranges::max(pieces, {}, &Piece::bytes).bytes;
    count_ = parts.size();
    team_ = threads / 2;
    while (team_ > 32 && team_ / 2 * of_thread >= largest) team_ /= 2;
    const std::uint64_t wanted = (count_ * team_ + threads - 1) / threads;
    blocks_ = static_cast<unsigned>(std::min<std::uint64_t>(wanted, std::max(most_blocks, 1u)));
    // Its WsPieceList lies behind the pieces.
    there_ = Allocation(device, Memory::device, (parts.size() + 1) * sizeof(Piece));
    parts.push_back({reinterpret_cast<std::uint64_t>(there_.address()), count_, team_});
    device.copy(there_.address(), parts.data(), there_.bytes());
}

ListBy list_by(const std::string& word) {
    if (word == "loop") return ListBy::loop;
    if (word == "batch") return ListBy::batch;
    if (word == "kernel") return ListBy::kernel;
    throw Error("lists go by loop, batch or kernel, not by " + word);
}

BlockList::BlockList(Device& device, ListBy by, std::byte* to, std::byte* from,
                     std::span<const Piece> pieces, unsigned most_blocks)
    : by_(by), to_(to), from_(from) {
    if (by == ListBy::kernel) {
        if (!device.has_kernels())
            throw Unavailable("a list goes by a kernel here, and this device runs none of ours");
        device.load("ws_pieces_copy_and_signal");
        prepared_.add([&] { table_ = PieceTable(device, pieces, most_blocks); });
        return;
    }
    prepared_.add([&] {
        for (const Piece& piece : pieces)
            copies_.add(to + piece.at, from + piece.content, piece.bytes);
    });
}

void BlockList::start(Stream& stream) {
    if (by_ == ListBy::kernel) {
        auto values = table_.arguments(to_, from_);
        void* arguments[] = {&values[0], &values[1], &values[2], &values[3], &values[4]};
        return stream.launch("ws_pieces_copy", table_.blocks(), PieceTable::threads, arguments);
    }
    if (by_ == ListBy::batch) return stream.copy_batch(copies_);
    for (std::size_t i = 0; i < copies_.to.size(); ++i)
        stream.copy(copies_.to[i], copies_.from[i], copies_.bytes[i]);
}

void BlockList::start_and_signal(Stream& stream, std::uint64_t word, std::uint64_t number,
                                 std::uint64_t counter) const {
    auto values = table_.arguments(to_, from_);
    void* arguments[] = {&values[0], &values[1], &values[2], &values[3],
                         &values[4], &word,      &number,    &counter};
    stream.launch("ws_pieces_copy_and_signal", table_.blocks(), PieceTable::threads, arguments);
}

PackedStep::PoolCopy::PoolCopy(Device& device, Memory kind, std::vector<Piece> pieces,
                               Preparation& preparation)
    : pieces_(std::move(pieces)) {
    if (on_host(kind) || pieces_.empty()) return;
    if (!device.has_kernels())
        throw Unavailable("packing on this device takes a kernel, and it runs none of ours");
    device.load("ws_pieces_copy");
    preparation.add([&] { table_ = PieceTable(device, pieces_, copy_blocks); }, 0);
}

void PackedStep::PoolCopy::run(Device& device, std::byte* to, const std::byte* from) {
    if (table_.empty()) {
        for (const Piece& piece : pieces_)
            std::memcpy(to + piece.at, from + piece.content, piece.bytes);
        return;
    }
    auto values = table_.arguments(to, from);
    void* arguments[] = {&values[0], &values[1], &values[2], &values[3], &values[4]};
    device.launch("ws_pieces_copy", table_.blocks(), PieceTable::threads, arguments);
}

std::string Preparation::text() const {
    if (!lists_) return {};
    char number[32];
    std::snprintf(number, sizeof number, "%.3e", seconds_ / lists_);
    return std::string("\"prepare_s\": ") + number;
}

std::unique_ptr<Program> Preparation::noted(std::unique_ptr<Program> program) const {
    return lists_ ? std::make_unique<Noted>(std::move(program), text()) : std::move(program);
}

PackedStep::PackedStep(Device& device, Page& page, const Step& step, const Buffers& buffers,
                       Preparation& preparation, const Compile& compile)
    : device_(device), page_(page), pools_(buffers), packing_(page.name("packing of a list")) {
    PackedMessages sends(step.sends, true), receives(step.receives, false);
    const auto room = [](const PackedMessages& packed) {
        return std::max<std::size_t>(packed.end, 1);
    };
    const std::size_t lists = sends.messages.size() + receives.messages.size();
    preparation.add(
        [&] {
            send_ = Allocation::buffer(device, buffers.kind, room(sends));
            receive_ = Allocation::buffer(device, buffers.into, room(receives));
        },
        static_cast<unsigned>(lists));
    gather_ = PoolCopy(device, buffers.kind, std::move(sends.pieces), preparation);
    scatter_ = PoolCopy(device, buffers.into, std::move(receives.pieces), preparation);
    Buffers messages = buffers;
    messages.send = send_.address();
    messages.receive = receive_.address();
    messages_ =
        compile({std::move(sends.messages), std::move(receives.messages), {}, {}, {}}, messages);
}

void PackedStep::run() {
    page_.enter(packing_);
    gather_.run(device_, send_.address(), pools_.send);
    messages_->run();
    page_.enter(packing_);
    scatter_.run(device_, pools_.receive, receive_.address());
}

}  // namespace wirespeed
