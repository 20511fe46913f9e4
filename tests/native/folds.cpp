// Folds (kernels/folds.h) on the CPU: folds combine|shares|meet. Built by
// test_kernels_on_the_cpu.py; what is wrong is one line, and the exit code 1.
#include "kernels/folds.h"
#include "kernels/element_kernels.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using wirespeed::cpu::Launch;

template <int protocol, bool words>
WS_KERNEL fold_all(const WsFolds* given, const WsOp* ops, u64 needs_grid_barrier) {
    if (protocol == ws_ll && ws_block() != 0) return;
    const u32 stop = 0;
    const WsCommon common = {&stop, 1, 1000, 0, 1};
    WsFoldTables tables = ws_fold_tables(given);
    ws_sync();
    ws_do_folds<protocol, words>(tables, common, tables.folds, given->fold_count,
                                 needs_grid_barrier != 0, ops, 0);
}
const wirespeed::cpu::Add<fold_all<ws_stores, false>> add_stores{"stores"};
const wirespeed::cpu::Add<fold_all<ws_pull, false>> add_pull{"pull"};
const wirespeed::cpu::Add<fold_all<ws_ll, false>> add_ll{"LL of bytes"};
const wirespeed::cpu::Add<fold_all<ws_ll, true>> add_ll_words{"LL of words"};

/// What is folded is sent on by blocks that do not wait for each other.
WS_KERNEL fold_and_send(const WsFolds* given, u64 to) {
    WsFoldTables tables = ws_fold_tables(given);
    ws_sync();
    ws_fold_share<false>(tables, tables.folds[0], nullptr, 0);
    ws_sync();
    ws_copy(to, tables.folds[0].to, tables.folds[0].bytes);
}
const wirespeed::cpu::Add<fold_and_send> add_send{"fold and send"};

[[noreturn]] void wrong(const std::string& what, const Launch& launch) {
    std::printf("%s: %u blocks of %u threads, seed %u\n", what.c_str(), launch.blocks, launch.lanes,
                launch.seed);
    std::exit(1);
}

struct Tables {
    std::vector<WsFold> folds;
    std::vector<WsSource> sources;

    void run(const char* kernel, const Launch& launch, const WsOp* ops, u64 last) const {
        WsFolds given{};
        given.folds = (u64)folds.data();
        given.sources = (u64)sources.data();
        given.fold_count = (u32)folds.size();
        given.source_count = (u32)sources.size();
        std::vector<u32> barrier(launch.blocks);
        given.met = (u64)barrier.data();
        const WsFolds* address = &given;
        void* arguments[] = {&address, &ops, &last};
        if (std::string(kernel) == "fold and send") arguments[1] = &last;
        wirespeed::cpu::run(kernel, launch, arguments);
    }
};

template <class Check> void each_launch(Check check) {
    for (const unsigned blocks : {1u, 3u})
        for (const unsigned lanes : {1u, 16u, 40u}) {
            const Launch launch{.blocks = blocks, .lanes = lanes, .seed = blocks};
            check(launch);
        }
}

constexpr u32 most = 8, flag = 77;
constexpr std::size_t room = 4096, margin = 64;
constexpr u8 untouched = 0xEE;

/// Elements of whole numbers, as messages in slots or at their senders, and places of memory that
/// begin `shift` elements off 16 bytes.
template <class Element> struct Sources {
    alignas(16) u8 bytes[most][room] = {}, sent[most][room] = {};
    alignas(16) u8 result[room + margin];
    WsPacket slots[most][2000] = {};  // two slots of 1000 packets
    WsOp ops[most] = {};
    std::size_t count, shift;

    Sources(std::size_t elements, std::size_t off) : count(elements), shift(off) {
        std::memset(result, untouched, sizeof result);
        for (u32 s = 0; s < most; ++s) {
            for (std::size_t i = 0; i < count; ++i)
                ws_make(1 + (i * 7 + s * 13 + s * s * i) % 31, of(s)[i]);
            std::memcpy(sent[s], bytes[s], room);
            ops[s].theirs = (u64)sent[s] + shift * sizeof(Element);
            ops[s].ring = (u64)slots[s];
            ops[s].place = flag;
            const std::size_t size = count * sizeof(Element);
            for (std::size_t at = 0; at < size; at += WS_FOLD_PACKET)
                ws_store_packet(slots[s] + 1000 * (flag & 1) + at / WS_FOLD_PACKET,
                                ws_pack<false>((const u8*)of(s) + at, ws_rest<8>(size, at), flag));
        }
    }
    Element* of(u32 source) { return (Element*)bytes[source] + shift; }
    Element* to() { return (Element*)result + shift; }
};

template <class Element>
void combine(const char* kernel, u32 type, u32 operation, std::size_t count, std::size_t shift,
             u32 used) {
    const bool packets = std::strcmp(kernel, "stores") != 0;
    each_launch([&](const Launch& launch) {
        Sources<Element> given(count, shift);
        Tables tables;
        tables.folds.push_back(
            {(u64)given.to(), count * sizeof(Element), 0, used, type, operation});
        for (u32 s = 0; s < used; ++s) {
            // Every other one is a message.
            const bool message = packets && s % 2 == 0;
            if (message) std::memset(given.of(s), 0xAA, count * sizeof(Element));
            tables.sources.push_back({(u64)given.of(s), message ? s : WS_IN_MEMORY, 0});
        }
        tables.run(kernel, launch, given.ops, 0);
        Sources<Element> fresh(count, shift);
        for (std::size_t i = 0; i < count; ++i) {
            Element right = fresh.of(0)[i];
            for (u32 s = 1; s < used; ++s)
                ws_round(ws_combined(ws_number(right), ws_number(fresh.of(s)[i]), operation),
                         right);
            if (ws_number(given.to()[i]) != ws_number(right))
                wrong(std::string(kernel) + ", type " + std::to_string(type) + ", element " +
                          std::to_string(i) + " of " + std::to_string(count),
                      launch);
        }
        for (const u8* at = given.result; at < given.result + sizeof given.result; ++at)
            if ((at < (u8*)given.to() || at >= (u8*)(given.to() + count)) && *at != untouched)
                wrong("written beside it", launch);
    });
}

void combine_all() {
    for (u32 type = 0; type < 5; ++type)
        ws_with_type(type, [&](auto element) {
            using Element = decltype(element);
            for (const std::size_t count : {1u, 3u, 5u, 100u, 401u})
                for (const u32 operation : {0u, 1u, 2u})
                    for (const std::size_t shift : {0u, 1u}) {
                        const u32 used = operation + 2;
                        combine<Element>("stores", type, operation, count, shift, used);
                        combine<Element>("pull", type, operation, count, shift, used);
                        combine<Element>("LL of bytes", type, operation, count, shift, most);
                        combine<Element>("LL of bytes", type, operation, count, shift, used);
                        if (shift * sizeof(Element) % 4 == 0)
                            combine<Element>("LL of words", type, operation, count, shift, used);
                        if (operation == 0) combine<Element>("stores", type, ws_first, count, 0, 1);
                        if (operation == 0)
                            combine<Element>("LL of bytes", type, ws_first, count, 0, 1);
                    }
        });
}

/// Ends of less than 16 bytes, too.
void shares() {
    for (const std::size_t bytes : {4u, 40u, 1000u, 4090u})
        for (unsigned seed = 0; seed < 10; ++seed) {
            const Launch launch{.blocks = 3, .lanes = 16, .seed = seed};
            alignas(16) static u8 one[room], sum[room], out[room];
            for (std::size_t i = 0; i < bytes; ++i) one[i] = (u8)(i + seed);
            std::memset(sum, untouched, room);
            Tables tables{{{(u64)sum, bytes, 0, 1, 0, ws_first}}, {{(u64)one, WS_IN_MEMORY, 0}}};
            tables.run("fold and send", launch, nullptr, (u64)out);
            if (std::memcmp(one, out, bytes)) wrong("sent before it was folded", launch);
        }
}

/// A fold of what other threads have folded.
void meet() {
    for (const char* kernel : {"stores", "LL of words"})
        for (unsigned seed = 0; seed < 10; ++seed) {
            const Launch launch{.blocks = 3, .lanes = 16, .seed = seed};
            alignas(16) static u8 one[room], other[room], last[room];
            for (std::size_t i = 0; i < room; ++i) one[i] = (u8)(i * 3 + seed);
            std::memset(other, untouched, room);
            Tables tables{
                {{(u64)other, room, 0, 1, 0, ws_first}, {(u64)last, room / 2, 1, 1, 0, ws_first}},
                {{(u64)one, WS_IN_MEMORY, 0}, {(u64)(other + room / 4), WS_IN_MEMORY, 0}}};
            tables.run(kernel, launch, nullptr, 1);
            if (std::memcmp(one + room / 4, last, room / 2)) wrong("folded too early", launch);
        }
}

}  // namespace

int main(int count, char** words) {
    const std::map<std::string, void (*)()> checks = {
        {"combine", combine_all}, {"shares", shares}, {"meet", meet}};
    for (int i = 1; i < count; ++i) checks.at(words[i])();
    std::puts("all right");
}
