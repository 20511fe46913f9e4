// Set-up that every rank does and any rank may fail at: each says what it has or why it has not,
// and all go on or none.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed {

/// The bytes that `write(from, bytes)` writes on each rank, by rank; see exchange().
std::vector<std::byte> exchange_bytes(Control& control, std::size_t bytes_each,
                                      void (*write)(void* from, std::byte* bytes), void* from);

/// What `mine` gives on each rank, by rank. Where it throws on some, all throw the first one's
/// words.
template <class Make> auto exchange(Control& control, Make mine) {
    using Value = decltype(mine());
    static_assert(std::is_trivially_copyable_v<Value>);
    const auto write = [](void* make, std::byte* bytes) {
        const Value value = (*static_cast<Make*>(make))();
        std::memcpy(bytes, &value, sizeof value);
    };
    const auto all = exchange_bytes(control, sizeof(Value), write, &mine);
    std::vector<Value> values(static_cast<std::size_t>(control.size()));
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
        Value value;
        std::memcpy(&value, all.data() + rank * sizeof value, sizeof value);
        values[rank] = value;
    }
    return values;
}

}  // namespace wirespeed
