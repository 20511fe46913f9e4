// LL messages, as the kernels send and receive them, on the CPU. Two threads stand
// for two GPUs. Built by test_kernels_on_the_cpu.py; what is wrong is one line, and the exit
// code 1.
#include "kernels/ll.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t margin = 16;
constexpr u8 untouched = 0xEE;

struct Message {
    u32 bytes, from, to, extra;  ///< `extra`: packets that the slot has beyond the message's
    bool words;

    u32 packets() const {
        const u32 count = (bytes + WS_PACKET_BYTES - 1) / WS_PACKET_BYTES;
        return count ? count : 1;
    }
};

[[noreturn]] void wrong(const Message& message, const char* what, std::size_t at) {
    std::printf("%u bytes from %u to %u, %s: %s at %zu\n", message.bytes, message.from, message.to,
                message.words ? "words" : "bytes", what, at);
    std::exit(1);
}

u8 content(const Message& message, std::size_t at) {
    return static_cast<u8>(7 * at + 31 * message.bytes + message.from + 1);
}

template <bool words> void pass(const Message& message, u32 flag) {
    const u32 count = message.packets();
    alignas(16) std::vector<u8> out(margin + message.from + message.bytes, untouched);
    std::vector<u8> in(2 * margin + message.to + message.bytes, untouched);
    // operator new aligns to 16 bytes, so that `from` and `to` are the alignments.
    u8* const source = out.data() + message.from;
    u8* const target = in.data() + margin + message.to;
    for (std::size_t i = 0; i < message.bytes; ++i) source[i] = content(message, i);
    std::vector<Ws16> room(count + message.extra);
    auto* const slot = reinterpret_cast<WsPacket*>(room.data());
    // What an earlier message left there.
    for (std::size_t i = 0; i < room.size(); ++i)
        ws_store_packet(slot + i,
                        {{0xDEADBEEF, 0xDEADBEEF, 0}, flag - 1 - static_cast<u32>(i % 2)});
    u32 stop = 0;
    bool good = false;
    {
        std::jthread receiver(
            [&] { good = ws_ll_receive<words>(target, message.bytes, slot, count, flag, &stop); });
        ws_ll_send<words>(slot, source, message.bytes, count, flag);
    }
    if (!good) wrong(message, "not received", 0);
    for (std::size_t i = 0; i < message.bytes; ++i)
        if (target[i] != content(message, i)) wrong(message, "wrong byte", i);
    for (u8* byte = in.data(); byte < in.data() + in.size(); ++byte)
        if ((byte < target || byte >= target + message.bytes) && *byte != untouched)
            wrong(message, "written beside it", static_cast<std::size_t>(byte - in.data()));
    for (std::size_t i = count; i < room.size(); ++i)
        if (ws_load_packet(slot + i).flag == flag) wrong(message, "too many packets", i);
}

/// A message that never comes: the receiver ends when it is told to.
void give_up() {
    alignas(16) WsPacket slot[8] = {};
    u8 target[64];
    u32 stop = 0;
    bool good = true;
    {
        std::jthread receiver([&] { good = ws_ll_receive<false>(target, 40, slot, 5, 9, &stop); });
        ws_store_flag(&stop, 1);
    }
    if (good) wrong({40, 0, 0, 0, false}, "received what was never sent", 0);
}

}  // namespace

int main() {
    static_assert(WS_PACKET_WORDS == 2 && WS_PACKET_BYTES == 8);
    u32 flag = 0xFFFFFF00u, passed = 0;  // it wraps around on the way
    for (u32 bytes = 0; bytes <= 40; ++bytes)
        for (u32 from = 0; from < 4; ++from)
            for (u32 to = 0; to < 4; ++to) {
                pass<false>({bytes, from, to, 3, false}, ++flag);
                ++passed;
                if (from || to) continue;
                pass<true>({bytes, from, to, 3, true}, ++flag);
                ++passed;
            }
    give_up();
    std::printf("%u messages\n", passed);
}
