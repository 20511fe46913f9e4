// What kernels need that talk to another processor while both run: words and packets that arrive
// whole, loads that see what others wrote, and a clock. Once for CUDA, HIP and the CPU.
#pragma once

#include "kernels/platform.h"

/// 16 bytes, moved at once.
struct alignas(16) Ws16 {
    u64 low, high;
};

/// A packet is 16 bytes in memory: words of payload and the flag that says that they have arrived.
struct WsPacket {
    u32 word[3];
    u32 flag;
};

#if defined(__CUDACC_RTC__)

/// The clock's reading; the host knows how fast it counts (Device::clock_rate). Its resolution is
/// that of the GPU's own timer (32 ns on Hopper, 1 us on some older ones).
WS_INLINE u64 ws_ticks() {
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}
WS_INLINE u32 ws_load_flag(const u32* at) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
WS_INLINE void ws_store_flag(u32* at, u32 value) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
/// A reader that sees the value also sees all that this thread, or its block before a ws_sync(),
/// wrote before, and its reads before are over.
WS_INLINE void ws_release_flag(u32* at, u32 value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
/// The same for readers on this GPU alone.
WS_INLINE void ws_release_near(u32* at, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
WS_INLINE u32 ws_load_near(const u32* at) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
WS_INLINE u64 ws_load_system(const u64* at) {
    u64 value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}
WS_INLINE void ws_store_system(u64* at, u64 value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
WS_INLINE void ws_store_stamp(u64* at, u64 value) { ws_store_system(at, value); }
// Past the first-level cache, which does not see what other processors write.
WS_INLINE Ws16 ws_load16(const Ws16* at) {
    Ws16 value;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(value.low), "=l"(value.high)
                 : "l"(at)
                 : "memory");
    return value;
}
WS_INLINE void ws_store16(Ws16* at, Ws16 value) {
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value.low), "l"(value.high)
                 : "memory");
}
WS_INLINE u32 ws_load4(const u32* at) {
    u32 value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
WS_INLINE u8 ws_load1(const u8* at) {
    u32 value;
    asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return (u8)value;
}

#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 3)
// A scalar of 128 bits is stored and loaded whole (PTX 8.3).
#define WS_PACKET_WORDS 3
WS_INLINE void ws_store_packet(WsPacket* at, WsPacket packet) {
    const u64 low = packet.word[0] | (u64)packet.word[1] << 32;
    const u64 high = packet.word[2] | (u64)packet.flag << 32;
    asm volatile(
        "{ .reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.sys.global.b128 [%0], v; }" ::"l"(at),
        "l"(low), "l"(high)
        : "memory");
}
WS_INLINE WsPacket ws_load_packet(const WsPacket* at) {
    u64 low, high;
    asm volatile("{ .reg .b128 v; ld.relaxed.sys.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
                 : "=l"(low), "=l"(high)
                 : "l"(at)
                 : "memory");
    return {{(u32)low, (u32)(low >> 32), (u32)high}, (u32)(high >> 32)};
}
#endif

#elif defined(__HIPCC_RTC__)

WS_INLINE u64 ws_ticks() { return wall_clock64(); }
template <class T> WS_INLINE T ws_load_system(const T* at) {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class T> WS_INLINE void ws_store_system(T* at, T value) {
    __hip_atomic_store(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
WS_INLINE u32 ws_load_flag(const u32* at) {
    return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
WS_INLINE void ws_store_flag(u32* at, u32 value) { ws_store_system(at, value); }
WS_INLINE void ws_release_flag(u32* at, u32 value) {
    __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
WS_INLINE void ws_release_near(u32* at, u32 value) {
    __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
WS_INLINE u32 ws_load_near(const u32* at) {
    return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
WS_INLINE void ws_store_stamp(u64* at, u64 value) { ws_store_system(at, value); }
WS_INLINE Ws16 ws_load16(const Ws16* at) {
    return {ws_load_system(&at->low), ws_load_system(&at->high)};
}
WS_INLINE void ws_store16(Ws16* at, Ws16 value) { *at = value; }
WS_INLINE u32 ws_load4(const u32* at) { return ws_load_system(at); }
WS_INLINE u8 ws_load1(const u8* at) { return ws_load_system(at); }

#else

WS_INLINE u64 ws_ticks() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (u64)time.tv_sec * 1000000000u + (u64)time.tv_nsec;
}
template <class T> WS_INLINE T ws_load_system(const T* at) {
    return std::atomic_ref(*const_cast<T*>(at)).load(std::memory_order_relaxed);
}
template <class T> WS_INLINE void ws_store_system(T* at, T value) {
    std::atomic_ref(*at).store(value, std::memory_order_relaxed);
}
WS_INLINE u32 ws_load_flag(const u32* at) {
    return std::atomic_ref(*const_cast<u32*>(at)).load(std::memory_order_acquire);
}
WS_INLINE void ws_store_flag(u32* at, u32 value) { ws_store_system(at, value); }
WS_INLINE void ws_release_flag(u32* at, u32 value) {
    std::atomic_ref(*at).store(value, std::memory_order_release);
}
WS_INLINE void ws_release_near(u32* at, u32 value) { ws_release_flag(at, value); }
WS_INLINE u32 ws_load_near(const u32* at) { return ws_load_flag(at); }
WS_INLINE void ws_store_stamp(u64* at, u64 value) { ws_store_system(at, value); }
WS_INLINE Ws16 ws_load16(const Ws16* at) { return *at; }
WS_INLINE void ws_store16(Ws16* at, Ws16 value) { *at = value; }
WS_INLINE u32 ws_load4(const u32* at) { return *at; }
WS_INLINE u8 ws_load1(const u8* at) { return *at; }

#endif

#ifndef WS_PACKET_WORDS
// Where only 8 bytes arrive whole, each half of a packet has its own flag.
#define WS_PACKET_WORDS 2
WS_INLINE void ws_store_packet(WsPacket* at, WsPacket packet) {
    u64* halves = (u64*)at;
    ws_store_system(&halves[0], packet.word[0] | (u64)packet.flag << 32);
    ws_store_system(&halves[1], packet.word[1] | (u64)packet.flag << 32);
}
WS_INLINE WsPacket ws_load_packet(const WsPacket* at) {
    const u64* halves = (const u64*)at;
    const u64 low = ws_load_system(&halves[0]), high = ws_load_system(&halves[1]);
    const u32 flag = (u32)(low >> 32);
    // Flags that differ are none that anybody waits for yet: the caller looks again.
    return {{(u32)low, (u32)high, 0}, flag == (u32)(high >> 32) ? flag : flag - 1};
}
#endif
