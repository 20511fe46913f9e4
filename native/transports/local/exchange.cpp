#include "transports/local/exchange.hpp"

#include <array>
#include <string>

#include "core/error.hpp"

namespace wirespeed {

std::vector<std::byte> exchange_bytes(Control& control, std::size_t bytes_each,
                                      void (*write)(void* from, std::byte* bytes), void* from) {
    struct State {
        bool failed = false, unavailable = false;
        std::array<char, 238> why{};
    };
    State state;
    const auto fail = [&](const std::exception& error, bool unavailable) {
        state.failed = true;
        state.unavailable = unavailable;
        std::strncpy(state.why.data(), error.what(), state.why.size() - 1);
    };
    std::vector<std::byte> mine(sizeof state + bytes_each);
    try {
        write(from, mine.data() + sizeof state);
    } catch (const Unavailable& error) {
        fail(error, true);
    } catch (const std::exception& error) {
        fail(error, false);
    }
    std::memcpy(mine.data(), &state, sizeof state);
    const auto ranks = static_cast<std::size_t>(control.size());
    std::vector<std::byte> words(ranks * mine.size()), values(ranks * bytes_each);
    control.allgather(mine.data(), words.data(), mine.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::byte* const word = words.data() + rank * mine.size();
        std::memcpy(&state, word, sizeof state);
        const std::string why = "rank " + std::to_string(rank) + ": " + state.why.data();
        if (state.unavailable) throw Unavailable(why);
        if (state.failed) throw Error(why);
        std::memcpy(values.data() + rank * bytes_each, word + sizeof state, bytes_each);
    }
    return values;
}

}  // namespace wirespeed
