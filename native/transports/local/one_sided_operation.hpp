// One-sided operations that no message accompanies, and the check of their sum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

enum class OneSidedOperation { put, get, fetch_add };

/// As the option "operation" says; none: messages are accompanied. Throws Error for another word.
inline std::optional<OneSidedOperation> operation_of(const Context& context) {
    const std::string word = context.option("operation", "");
    if (word.empty()) return {};
    if (word == "put") return OneSidedOperation::put;
    if (word == "get") return OneSidedOperation::get;
    if (word == "fetch-add") return OneSidedOperation::fetch_add;
    throw Error("operation is put, get or fetch-add, not '" + word + "'");
}

/// Of a batch of fetch-and-adds to one word.
struct Additions {
    explicit Additions(const Context& context)
        : addend(static_cast<std::int64_t>(context.number("addend", 1, 0, 9))) {}

    void begin() { count = 0; }
    void done() {
        if (++count == 1) first = fetched;
    }
    /// Throws Error where what was fetched last is not the first word and one for each addition in
    /// between.
    void check() const {
        if (count > 0 && fetched != first + count - 1)
            throw Error("wrong sum: " + std::to_string(count) + " additions of 1 to " +
                        std::to_string(first) + " fetched " + std::to_string(fetched) + " last");
    }

    std::int64_t addend;  ///< 1; another one is a fault, which the check finds
    std::int64_t fetched = 0, first = 0, count = 0;
};

}  // namespace wirespeed
