#include "transports/local/flags.hpp"

#include <sched.h>

#include "core/reached.hpp"

namespace wirespeed {
Flags::Flags(Context& context)
    : context_(context),
      segments_(share_segments(
          context.control, 2 * cache_line * static_cast<std::size_t>(context.control.size()))) {}

std::uint32_t& Flags::word(int reader, int writer, Kind kind) {
    auto& segment = segments_.at(static_cast<std::size_t>(reader));
    return *reinterpret_cast<std::uint32_t*>(segment.address() + place(writer, kind));
}

std::uint32_t* Flags::on_device(int reader, int writer, Kind kind) {
    auto& segment = segments_.at(static_cast<std::size_t>(reader));
    return reinterpret_cast<std::uint32_t*>(segment.pin(context_.device) + place(writer, kind));
}

void Flags::wait(std::uint32_t& word, std::uint32_t value) const {
    for (int spins = 0; !reached(word, value);)
        if (spins < spins_before_yield)
            ++spins;
        else
            sched_yield();
}

}  // namespace wirespeed
