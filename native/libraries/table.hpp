// A table of an outside library's functions, from one list of (member, symbol, type). The same list
// is what tests/native holds against the library's own headers, so none can be forgotten there.
#pragma once

#include <type_traits>

#include "libraries/library.hpp"

#define WS_TABLE_MEMBER(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
#define WS_TABLE_BIND(member, symbol, ...) library.bind(member, #symbol);
/// Leaves the member null where the library is too old (or too new) to have the symbol.
#define WS_TABLE_BIND_IF_THERE(member, symbol, ...) \
    member = reinterpret_cast<decltype(member)>(library.find(#symbol));
/// The symbol's name, for messages.
#define WS_TABLE_NAME(member, symbol, ...) static constexpr const char* member = #symbol;
