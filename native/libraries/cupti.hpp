// CUPTI, which reports what the driver did, without its header: only how many copies of which kind.
// tests/native holds every declaration against cupti.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libraries/table.hpp"

// clang-format off
#define WS_CUPTI_CALLS(CALL) \
    CALL(enable, cuptiActivityEnable, Result(Kind)) \
    CALL(disable, cuptiActivityDisable, Result(Kind)) \
    CALL(register_callbacks, cuptiActivityRegisterCallbacks, Result(BufferRequested, BufferCompleted)) \
    CALL(flush_all, cuptiActivityFlushAll, Result(std::uint32_t flag)) \
    CALL(next_record, cuptiActivityGetNextRecord, Result(std::uint8_t* buffer, std::size_t bytes, Record**)) \
    CALL(result_string, cuptiGetResultString, Result(Result, const char** text))
// clang-format on

namespace wirespeed {

struct Cupti {
    using Result = int;
    using Kind = int;
    /// What the records of copies begin with, in every version of the library.
    struct Record {
        Kind kind;
        std::uint8_t copy_kind, source_kind, target_kind, flags;
        std::uint64_t bytes;
    };
    using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes,
                                     std::size_t* most_records);
    using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                     std::size_t bytes, std::size_t valid);

    static constexpr Result success = 0;
    static constexpr Kind copy = 1;        ///< CUPTI_ACTIVITY_KIND_MEMCPY
    static constexpr Kind peer_copy = 22;  ///< CUPTI_ACTIVITY_KIND_MEMCPY2
    static constexpr std::uint8_t host_to_device = 1, device_to_host = 2, on_device = 8, peer = 10;
    static constexpr std::uint32_t forced = 1;  ///< CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

    struct Calls {
        WS_CUPTI_CALLS(WS_TABLE_MEMBER)
        explicit Calls(const Library& library) { WS_CUPTI_CALLS(WS_TABLE_BIND) }
    };
    struct Names {
        WS_CUPTI_CALLS(WS_TABLE_NAME)
    };

    static std::string text(const Calls& calls, Result code) {
        const char* words = nullptr;
        calls.result_string(code, &words);
        return words ? words : "error " + std::to_string(code);
    }
};

}  // namespace wirespeed
