#include "transports/local/exchange.hpp"

#include <array>
#include <string>

#include "core/error.hpp"

namespace wirespeed {

std::vector<std::byte> exchange_bytes(Control& control, std::size_t bytes_each,
                                      void (*write)(void* from, std::byte* bytes), void* from) {
    struct ExchangeFailure {
        bool failed = false, unavailable = false;
        std::array<char, 238> why{};
    };
    ExchangeFailure failure;
    const auto fail = [&](const std::exception& error, bool unavailable) {
        failure.failed = true;
        failure.unavailable = unavailable;
        std::strncpy(failure.why.data(), error.what(), failure.why.size() - 1);
    };
    std::vector<std::byte> mine(sizeof failure + bytes_each);
    try {
        write(from, mine.data() + sizeof failure);
    } catch (const Unavailable& error) {
        fail(error, true);
    } catch (const std::exception& error) {
        fail(error, false);
    }
    std::memcpy(mine.data(), &failure, sizeof failure);
    const auto ranks = static_cast<std::size_t>(control.size());
    std::vector<std::byte> words(ranks * mine.size()), values(ranks * bytes_each);
    control.allgather(mine.data(), words.data(), mine.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::byte* const word = words.data() + rank * mine.size();
        std::memcpy(&failure, word, sizeof failure);
        const std::string why = "rank " + std::to_string(rank) + ": " + failure.why.data();
        if (failure.unavailable) throw Unavailable(why);
        if (failure.failed) throw Error(why);
        std::memcpy(values.data() + rank * bytes_each, word + sizeof failure, bytes_each);
    }
    return values;
}

}  // namespace wirespeed
