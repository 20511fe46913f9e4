// What a fake driver says of an address (cuPointerGetAttribute, hipPointerGetAttribute).
#pragma once

#include "fake_gpu.hpp"

namespace fake {

inline int pointer_attribute(void* value, int attribute, const void* address) {
    const auto* found = block_of(address);
    if (!found) return invalid_value;
    const Block& block = found->second;
    const auto put = [&](auto content) {
        std::memcpy(value, &content, sizeof content);
        return success;
    };
    switch (attribute) {
        case 1:
            return put(static_cast<std::uintptr_t>(block.context));
        case 2:
            return put(block.kind == Kind::pinned ? 1u : 2u);
        case 8:
            return put(static_cast<unsigned>(block.kind == Kind::managed));
        case 9:
            return put(block.device);
        case 10:
            return put(static_cast<int>(block.kind == Kind::device && block.ipc));
        case 15:
            return put(1);
        default:
            return invalid_value;
    }
}

}  // namespace fake
