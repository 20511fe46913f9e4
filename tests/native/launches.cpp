// The kernels that fill, check, add and copy, run on the CPU with many sizes of blocks and grids.
// Built by test_kernels_on_the_cpu.py; what is wrong is one line, and the exit code 1.
#include "kernels/copy.h"
#include "kernels/payload.h"
#include "kernels/sums.h"
#include "kernels/waiting_copy.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using wirespeed::cpu::Launch;

const wirespeed::cpu::Add<ws_payload_fill> add_fill{"ws_payload_fill"};
const wirespeed::cpu::Add<ws_payload_check> add_check{"ws_payload_check"};
const wirespeed::cpu::Add<ws_pieces_fill> add_pieces_fill{"ws_pieces_fill"};
const wirespeed::cpu::Add<ws_pieces_check> add_pieces_check{"ws_pieces_check"};
const wirespeed::cpu::Add<ws_sums_fill> add_sums_fill{"ws_sums_fill"};
const wirespeed::cpu::Add<ws_sums_add> add_sums_add{"ws_sums_add"};
const wirespeed::cpu::Add<ws_sums_check> add_sums_check{"ws_sums_check"};
const wirespeed::cpu::Add<ws_copy_bytes> add_bytes{"ws_copy_bytes"};
const wirespeed::cpu::Add<ws_copy_and_signal> add_copy{"ws_copy_and_signal"};
const wirespeed::cpu::Add<ws_wait_and_copy> add_waiting{"ws_wait_and_copy"};

Launch launch;

template <class... T> void run(const char* kernel, T... values) {
    void* arguments[] = {&values...};
    wirespeed::cpu::run(kernel, launch, arguments);
}

void expect(bool right, const char* what, u64 bytes) {
    if (right) return;
    std::printf("%s of %llu bytes: %u blocks of %u threads, seed %u\n", what, bytes, launch.blocks,
                launch.lanes, launch.seed);
    std::exit(1);
}

void payload(u64 bytes, u64 offset) {
    std::vector<u8> room(offset + bytes + 8, 0xEE);
    u8* const at = room.data() + offset;
    run("ws_payload_fill", at, bytes, u64{42}, u64{3});
    for (u64 i = 0; i < bytes; ++i)
        expect(at[i] == (u8)(ws_payload_word(i / 8, 42, 3) >> 8 * (i % 8)), "fill", bytes);
    expect(at[bytes] == 0xEE, "beside what is filled", bytes);
    u64 first = bytes;
    run("ws_payload_check", at, bytes, u64{42}, u64{3}, &first);
    expect(first == bytes, "check", bytes);
    if (bytes < 7) return;
    for (const u64 wrong : {bytes - 1, bytes / 2}) at[wrong] ^= 1;
    run("ws_payload_check", at, bytes, u64{42}, u64{3}, &first);
    expect(first == bytes / 2, "first wrong byte", bytes);
}

/// Three pieces of a pool, whose contents begin anywhere in that of one large message.
void pieces(u64 bytes, u64 offset) {
    const WsPiece list[] = {
        {bytes + 5, 3 * bytes + 1, bytes}, {0, 8, bytes}, {2 * bytes + 9, 0, 1}};
    std::vector<u8> room(offset + 2 * bytes + 16, 0xEE), whole(4 * bytes + 16);
    u8* const pool = room.data() + offset;
    run("ws_payload_fill", whole.data(), u64{whole.size()}, u64{42}, u64{3});
    run("ws_pieces_fill", pool, &list[0], u64{3}, u64{42}, u64{3});
    std::vector<u8> expected(room.size(), 0xEE);
    for (const WsPiece& piece : list)
        std::copy_n(whole.begin() + (long)piece.content, piece.bytes,
                    expected.begin() + (long)(offset + piece.at));
    expect(room == expected, "pieces, and what lies between them,", bytes);
    u64 first = ~u64{0};
    run("ws_pieces_check", pool, &list[0], u64{3}, u64{42}, u64{3}, &first);
    expect(first == ~u64{0}, "check of pieces", bytes);
    pool[2 * bytes + 9] ^= 1;
    run("ws_pieces_check", pool, &list[0], u64{3}, u64{42}, u64{3}, &first);
    expect(first == 2 * bytes + 9, "a wrong byte in the last piece", bytes);
    if (bytes < 2) return;
    for (const u64 wrong : {2 * bytes + 4, bytes - 1}) pool[wrong] ^= 1;
    run("ws_pieces_check", pool, &list[0], u64{3}, u64{42}, u64{3}, &first);
    expect(first == bytes - 1, "the first wrong byte of pieces", bytes);
}

void sums(u64 count) {
    std::vector<double> numbers(count + 1);
    double* const at = numbers.data();
    run("ws_sums_fill", at, count, 5.0);
    run("ws_sums_add", at, count, 2.5);
    u64 first = count;
    run("ws_sums_check", at, count, 7.5, &first);
    expect(first == count && numbers[count] == 0, "sums", 8 * count);
}

struct Copied {
    std::vector<u8> from, to;
    u32 word = 0, counter = 0;

    Copied(u64 bytes, u64 offset) : from(offset + bytes), to(offset + bytes + 8, 0xEE) {
        for (u64 i = 0; i < from.size(); ++i) from[i] = (u8)(13 * i + i / 256 + 1);
    }
    void copy(u64 offset) {
        run("ws_copy_and_signal", (u64)(to.data() + offset), (u64)(from.data() + offset),
            (u64)(from.size() - offset), (u64)&word, u64{9}, (u64)&counter);
    }
    bool whole(u64 offset) const {
        return std::equal(from.begin() + (long)offset, from.end(), to.begin() + (long)offset);
    }
};

void copy(u64 bytes, u64 offset) {
    Copied copied(bytes, offset);
    copied.copy(offset);
    expect(copied.whole(offset) && copied.to[offset + bytes] == 0xEE, "copy", bytes);
    expect(copied.word == 9 && copied.counter == 0, "word after a copy", bytes);
    Copied plain(bytes, offset);
    run("ws_copy_bytes", (u64)(plain.to.data() + offset), (u64)(plain.from.data() + offset), bytes);
    expect(plain.whole(offset) && plain.to[offset + bytes] == 0xEE, "copy without a word", bytes);
}

void every_launch() {
    u32 launches = 0;
    for (launch.blocks = 1; launch.blocks <= 5; launch.blocks += 2)
        for (const unsigned lanes : {1u, 4u, 32u})
            for (launch.seed = 0, launch.lanes = lanes; launch.seed < 3; ++launch.seed, ++launches)
                for (const u64 bytes : {0, 1, 7, 8, 100, 4097, 65536})
                    for (const u64 offset : {0, 3}) {
                        payload(bytes, offset);
                        pieces(bytes, offset);
                        copy(bytes, offset);
                        if (!offset) sums(bytes);
                    }
    std::printf("%u launches\n", launches);
}

/// Does somebody who sees the word see all bytes? How many times in a row they were there.
void watched_copies() {
    launch.blocks = 3;
    launch.lanes = 8;
    u32 times = 0;
    for (bool whole = true; whole && times < 2000; ++times) {
        launch.seed = times + 1;
        Copied copied(launch.blocks * launch.lanes * 16, 0);
        std::jthread watcher([&] {
            while (ws_load_flag(&copied.word) == 0) std::this_thread::yield();
            whole = copied.whole(0);
        });
        copied.copy(0);
    }
    std::puts(times == 2000 ? "always whole" : "told too early");
}

/// Two peers, each with two transfers of an iteration, and the host that lets them go.
class Waiting {
  public:
    static constexpr u64 bytes = 700, iterations = 3, peer_count = 2, each = 2;
    static constexpr u64 ever = 5000000000;    ///< ticks, of a test that fails
    static constexpr u32 before = 0xfffffffd;  ///< counts wrap around

    explicit Waiting(u64 offset) {
        for (u64 p = 0; p < peer_count; ++p) {
            for (u64 i = 0; i < each; ++i) {
                Copied& copied = messages_.emplace_back(bytes + p, offset);
                transfers_[p][i] = {(u64)(copied.to.data() + offset),
                                    (u64)(copied.from.data() + offset), bytes + p};
            }
            peers_[p] = {(u64)&bells_[p],
                         (u64)&arrived_[p],
                         (u64)&done_[p],
                         (u64)&counters_[p],
                         (u64)transfers_[p].data(),
                         (u32)each,
                         0};
        }
    }
    void start(u64 ticks) {
        kernel_ = std::jthread([this, ticks] {
            run("ws_wait_and_copy", (const WsWaitingPeer*)peers_.data(), peer_count, iterations,
                (const u32*)&stop_, ticks);
        });
    }
    /// The last peer first, whose messages may not wait for the others'.
    bool send(u64 offset) {
        for (u64 p = peer_count; p-- > 0;)
            for (u32 i = 1; i <= iterations * each; ++i) {
                Copied& copied = messages_[p * each + (i - 1) % each];
                for (u8& byte : copied.from) byte = (u8)(byte + i);
                ws_release_flag(&bells_[p], before + i);
                if (!wait(arrived_[p], before + i) || !copied.whole(offset)) return false;
                if (!wait(done_[p], before + i)) return false;
            }
        kernel_.join();
        return std::ranges::all_of(counters_,
                                   [](const auto& each) { return each[0] == 0 && each[1] == 0; });
    }
    /// All at once, as the messages of a window go.
    bool send_together(u64 offset) {
        for (u32& bell : bells_) ws_release_flag(&bell, (u32)(before + iterations * each));
        kernel_.join();
        bool whole = true;
        for (const Copied& copied : messages_) whole = whole && copied.whole(offset);
        for (const u32 arrived : arrived_)
            whole = whole && arrived == (u32)(before + iterations * each);
        return whole;
    }
    bool send_nothing(bool tell) {
        if (tell) ws_release_flag(&stop_, 1);
        kernel_.join();
        return arrived_[0] == before && done_[0] == before;
    }

  private:
    /// False: it never comes.
    static bool wait(const u32& word, u32 number) {
        const u64 until = ws_ticks() + 2 * Waiting::ever;
        while ((int)(ws_load_flag(&word) - number) < 0 && ws_ticks() < until)
            std::this_thread::yield();
        return ws_load_flag(&word) == number;
    }

    std::vector<Copied> messages_;
    std::array<std::array<WsWaitingTransfer, each>, peer_count> transfers_{};
    std::array<WsWaitingPeer, peer_count> peers_{};
    std::array<std::array<u32, 2>, peer_count> counters_{};
    std::array<u32, peer_count> bells_{before, before}, arrived_{before, before},
        done_{before, before};
    u32 stop_ = 0;
    std::jthread kernel_;
};

void waiting_copies() {
    constexpr u64 soon = 1000000;
    for (launch.blocks = 2; launch.blocks <= 6; launch.blocks += 2)
        for (const unsigned lanes : {1u, 8u})
            for (launch.seed = 0, launch.lanes = lanes; launch.seed < 20; ++launch.seed)
                for (const u64 offset : {0, 3}) {
                    Waiting one(offset), together(offset), told(offset), alone(offset);
                    one.start(Waiting::ever);
                    expect(one.send(offset), "each message at its word", Waiting::bytes);
                    together.start(Waiting::ever);
                    expect(together.send_together(offset), "a window", Waiting::bytes);
                    if (launch.seed > 2) continue;
                    told.start(Waiting::ever);
                    expect(told.send_nothing(true), "told to end", Waiting::bytes);
                    alone.start(soon);
                    expect(alone.send_nothing(false), "nobody rings", Waiting::bytes);
                }
    std::puts("always whole");
}

}  // namespace

int main(int, char** words) {
    if (words[1] == std::string("watched"))
        watched_copies();
    else if (words[1] == std::string("waiting"))
        waiting_copies();
    else
        every_launch();
}
