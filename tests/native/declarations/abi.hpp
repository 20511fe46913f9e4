// Is our declaration of a function the same to a caller as the library's own? Handles and enums may
// have other names and types, but every argument must travel in the same way.
#pragma once

#include <cstddef>
#include <type_traits>

template <class T>
concept Complete = requires { sizeof(T); };

template <class Ours, class Theirs> consteval bool same_value() {
    if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
        return std::is_void_v<Ours> && std::is_void_v<Theirs>;
    } else {
        return sizeof(Ours) == sizeof(Theirs) && std::is_class_v<Ours> == std::is_class_v<Theirs> &&
               std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
    }
}

/// Pointers to what both sides know must point to things of the same size, too; a buffer of ours
/// (a class) may be larger than what the library writes into it.
template <class Ours, class Theirs> consteval bool same_argument() {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
        using Our = std::remove_pointer_t<Ours>;
        using Their = std::remove_pointer_t<Theirs>;
        if constexpr (std::is_void_v<Our> || std::is_void_v<Their>)
            return true;
        else if constexpr (!Complete<Our> || !Complete<Their>)
            return true;
        else if constexpr (std::is_class_v<Our> && std::is_class_v<Their>)
            return sizeof(Our) >= sizeof(Their);
        else
            return same_value<Our, Their>();
    } else {
        return same_value<Ours, Theirs>();
    }
}

template <class Ours, class Theirs> struct SameFunction : std::false_type {};
template <class OurResult, class... Our, class TheirResult, class... Their>
    requires(sizeof...(Our) == sizeof...(Their))
struct SameFunction<OurResult (*)(Our...), TheirResult (*)(Their...)>
    : std::bool_constant<same_argument<OurResult, TheirResult>() &&
                         (same_argument<Our, Their>() && ...)> {};

template <class Ours, class TheirResult, class... Their>
struct SameFunction<Ours, TheirResult (*)(Their...) noexcept>
    : SameFunction<Ours, TheirResult (*)(Their...)> {};

#define HOLD(function_type, symbol) \
    static_assert(SameFunction<function_type, decltype(&symbol)>::value, #symbol);
