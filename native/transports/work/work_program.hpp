// A program of work alone: what the same steps take without transfers.
#pragma once

#include <memory>
#include <span>

#include "transports/transport.hpp"

namespace wirespeed {

/// Collective, as every program. Work of device memory runs in a stream, by itself. `gated`: the
/// launches that a step names to be ordered by flags, without a gate; else its others.
std::unique_ptr<Program> make_work_program(Context& context, std::span<const Step> steps,
                                           const Buffers& buffers, bool gated);

}  // namespace wirespeed
