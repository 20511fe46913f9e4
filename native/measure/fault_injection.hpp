// A faulty program, to test the payload check: it runs the true program and then damages what
// arrived, as a faulty transport would.
#pragma once

#include <memory>
#include <string>

#include "measure/program.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// fault: "drop-byte" (the last byte stays as it was before the iteration), "drop-iteration"
/// (nothing arrives), "repeat-iteration" (what the iteration before brought arrives again). Throws
/// Error for another word.
std::unique_ptr<Program> inject_fault(std::unique_ptr<Program> program, const std::string& fault,
                                      Device& device, Buffers buffers, std::size_t received);

}  // namespace wirespeed
