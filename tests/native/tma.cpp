// Copies by the bulk copy engine (TMA), on the CPU's model of it. Built by
// test_kernels_on_the_cpu.py; what is wrong is one line, and the exit code 1.
#include "kernels/tma.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/error.hpp"

namespace {

constexpr u64 copies = 4;

/// So many copies one after the other, of content that the kernel writes by itself. `wrong` counts
/// the bytes that a block did not find where it copied them to.
WS_KERNEL copy_and_look(u64 to, u64 from, u64 bytes, u64* wrong) {
    WsTma tma;
    ws_tma_begin(tma);
    ws_sync();
    for (u64 copy = 0; copy < copies; ++copy) {
        const u64 target = to + copy * bytes;
        if (ws_blocks() == 1)
            ws_for_each(bytes, [=](u64 i) { ws_at<u8>(from)[i] = (u8)(7 * i + i / 256 + copy); });
        ws_sync();
        ws_tma_copy(tma, target, from, bytes);
        ws_sync();
        if (ws_blocks() == 1)
            ws_for_each(bytes, [=](u64 i) {
                if (ws_at<u8>(target)[i] != (u8)(7 * i + i / 256 + copy))
                    ws_atomic_add((u32*)wrong, 1);
            });
        ws_sync();
    }
}

const wirespeed::cpu::Add<copy_and_look> add{"copy_and_look"};

void pass(const wirespeed::cpu::Launch& launch, u64 bytes, u64 offset) {
    constexpr u8 untouched = 0xEE;
    const u64 margin = 64, all = copies * bytes;
    // operator new aligns to 16 bytes.
    std::vector<u8> source(offset + bytes), target(offset + all + margin, untouched);
    u8 *from = source.data() + offset, *to = target.data() + offset;
    for (u64 i = 0; i < bytes; ++i) from[i] = (u8)(11 * i + i / 256);
    u64 wrong = 0;
    void* found = &wrong;
    void* arguments[] = {&to, &from, &bytes, &found};
    wirespeed::cpu::run("copy_and_look", launch, arguments);
    // The kernel of one block has written the content of its last copy over it.
    for (u64 i = 0; launch.blocks > 1 && i < all; ++i) wrong += to[i] != from[i % bytes];
    for (u64 i = 0; i < margin; ++i) wrong += to[all + i] != untouched;
    if (!wrong) return;
    std::printf("%llu wrong bytes of %llu at %llu: %u blocks of %u threads, seed %u\n", wrong,
                bytes, offset, launch.blocks, launch.lanes, launch.seed);
    std::exit(1);
}

}  // namespace

int main() try {
    u32 passed = 0;
    for (const u64 bytes : {0, 1, 8191, 8192, 3 * 8192 + 5, 5 * 8192, 23 * 8192 + 16})
        for (const u64 offset : {0, 3})
            for (const unsigned blocks : {1u, 3u})
                for (const unsigned lanes : {1u, 4u, 32u})
                    for (const unsigned seed : {0u, 1u, 2u, 3u}) {
                        const wirespeed::cpu::Launch launch{
                            .blocks = blocks, .lanes = lanes, .seed = seed};
                        pass(launch, bytes, offset);
                        ++passed;
                    }
    std::printf("%u launches\n", passed);
} catch (const wirespeed::Error& error) {
    std::printf("%s\n", error.what());
    return 1;
}
