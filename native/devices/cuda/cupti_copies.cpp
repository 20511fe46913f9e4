#include "devices/cuda/cupti_copies.hpp"

#include <cstdlib>

#include "core/error.hpp"
#include "libraries/cupti.hpp"

namespace wirespeed::cuda {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20, buffer_alignment = 8;

CopyCounter counter;

struct LoadedCupti {
    LoadedCupti()
        : library("cupti", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}), calls(library) {}
    Library library;
    Cupti::Calls calls;
};

const Cupti::Calls& cupti() {
    static const LoadedCupti opened;
    return opened.calls;
}

void check(Cupti::Result code, const char* call) {
    if (code != Cupti::success)
        throw Unavailable(std::string(call) + "(): " + Cupti::text(cupti(), code));
}

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
    *bytes = *buffer ? buffer_bytes : 0;
    *most_records = 0;  // as many as fit
}

void count(const Cupti::Record& record) {
    switch (record.copy_kind) {
        case Cupti::host_to_device:
            return counter.add(CopyKind::host_to_device, record.bytes);
        case Cupti::device_to_host:
            return counter.add(CopyKind::device_to_host, record.bytes);
        case Cupti::on_device:
            return counter.add(CopyKind::on_device, record.bytes);
        case Cupti::peer:
            return counter.add(CopyKind::peer, record.bytes);
        default:
            return;
    }
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    Cupti::Record* record = nullptr;
    while (valid && cupti().next_record(buffer, valid, &record) == Cupti::success)
        if (record->kind == Cupti::copy || record->kind == Cupti::peer_copy) count(*record);
    std::free(buffer);
}

}  // namespace

void watch_copies(bool on) {
    const auto& calls = cupti();
    if (on) {
        static const int registered = (check(calls.register_callbacks(give_buffer, take_buffer),
                                             Cupti::Names::register_callbacks),
                                       1);
        (void)registered;
        counter.clear();
    }
    for (const auto kind : {Cupti::copy, Cupti::peer_copy})
        check(on ? calls.enable(kind) : calls.disable(kind),
              on ? Cupti::Names::enable : Cupti::Names::disable);
}

CopyCounts copies() {
    check(cupti().flush_all(Cupti::forced), Cupti::Names::flush_all);
    return counter.counts();
}

}  // namespace wirespeed::cuda
