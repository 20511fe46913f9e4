// A program of work alone: what the same steps take without transfers.
#pragma once

#include <memory>
#include <span>

#include "transports/transport.hpp"

namespace wirespeed {

/// Collective, as every program. Work of device memory runs in a stream, by itself.
std::unique_ptr<Program> make_work_program(Context& context, std::span<const Step> steps,
                                           const Buffers& buffers);

}  // namespace wirespeed
