// Elements of a reduction: two arrays combined, and whole numbers that say where they come from.
#pragma once

#include "kernels/persistent_types.h"
#include "kernels/platform.h"

struct WsHalf {
    unsigned short bits;
};
struct WsBfloat {
    unsigned short bits;
};

union WsFloat {
    u32 bits;
    float value;
};

WS_INLINE float ws_float_of(u32 bits) {
    WsFloat word;
    word.bits = bits;
    return word.value;
}
WS_INLINE u32 ws_bits_of(float value) {
    WsFloat word;
    word.value = value;
    return word.bits;
}

/// What elements are computed in: 16 bits in 32.
WS_INLINE float ws_number(float element) { return element; }
WS_INLINE double ws_number(double element) { return element; }
WS_INLINE int ws_number(int element) { return element; }
WS_INLINE float ws_number(WsBfloat element) { return ws_float_of((u32)element.bits << 16); }
/// The exponent is moved by a multiplication, which is right for denormal numbers too.
WS_INLINE float ws_number(WsHalf element) {
    const u32 magnitude = (u32)(element.bits & 0x7fff) << 13;
    float value = ws_float_of(magnitude) * ws_float_of(0x77800000u);
    if (magnitude >= 0x0f800000u) value = ws_float_of(magnitude | 0x7f800000u);
    return ws_float_of(ws_bits_of(value) | (u32)(element.bits & 0x8000) << 16);
}

WS_INLINE void ws_round(float value, float& to) { to = value; }
WS_INLINE void ws_round(double value, double& to) { to = value; }
WS_INLINE void ws_round(int value, int& to) { to = value; }
/// To the nearest, to even where two are as near.
WS_INLINE void ws_round(float value, WsBfloat& to) {
    const u32 bits = ws_bits_of(value);
    to.bits = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    if (value != value) to.bits = 0x7fc0;
}
WS_INLINE void ws_round(float value, WsHalf& to) {
    const u32 bits = ws_bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    u32 half = 0;
    if (magnitude > 0x7f800000u)
        half = 0x7e00;
    else if (magnitude >= 0x477ff000u)
        half = 0x7c00;
    else if (magnitude >= 0x38800000u)
        half = (magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13;
    else  // denormal: the addition rounds
        half = ws_bits_of(ws_float_of(magnitude) + 0.5f) - 0x3f000000u;
    to.bits = (unsigned short)(half | sign);
}

/// Calls body with an element of the type of this number: fp32, fp16, bf16, fp64, int32.
template <class Body> WS_INLINE void ws_with_type(u64 type, Body body) {
    if (type == 0) body(float());
    if (type == 1) body(WsHalf());
    if (type == 2) body(WsBfloat());
    if (type == 3) body(double());
    if (type == 4) body(int());
}

template <class Number> WS_INLINE Number ws_combined(Number a, Number b, u64 operation) {
    if (operation == ws_sum) return a + b;
    if (operation == ws_max) return a < b ? b : a;
    if (operation == ws_min) return b < a ? b : a;
    return a;
}
