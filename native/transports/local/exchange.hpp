// Set-up that every rank does and any rank may fail at: each says what it has or why it has not,
// and all go on or none.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// What `mine` gives on each rank, by rank. Where it throws on some, all throw the first one's
/// words.
template <class Make> auto exchange(Control& control, Make mine) {
    using Value = decltype(mine());
    static_assert(std::is_trivially_copyable_v<Value>);
    struct Word {
        bool failed = false, unavailable = false;
        char why[238] = {};
        Value value{};
    };
    Word word;
    const auto fail = [&](const std::exception& error, bool unavailable) {
        word.failed = true;
        word.unavailable = unavailable;
        std::strncpy(word.why, error.what(), sizeof word.why - 1);
    };
    try {
        word.value = mine();
    } catch (const Unavailable& error) {
        fail(error, true);
    } catch (const std::exception& error) {
        fail(error, false);
    }
    std::vector<Word> all(static_cast<std::size_t>(control.size()));
    control.allgather(&word, all.data(), sizeof word);
    std::vector<Value> values;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const std::string why = "rank " + std::to_string(rank) + ": " + all[rank].why;
        if (all[rank].unavailable) throw Unavailable(why);
        if (all[rank].failed) throw Error(why);
        values.push_back(all[rank].value);
    }
    return values;
}

}  // namespace wirespeed
