// A faulty program, to test the payload check: it runs the true program and then damages what
// arrived, as a faulty transport would.
#pragma once

#include <memory>
#include <string>

#include "measure/program.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// What a fault damages: bytes behind the start of the receive buffer, elements of so many bytes
/// each.
struct Arrived {
    std::size_t begin, bytes, element = 1;
};

/// fault: "drop-byte" (the last byte stays as it was before the iteration), "drop-iteration"
/// (nothing arrives), "repeat-iteration" (what the iteration before brought arrives again);
/// "drop-element" (one in the middle stays as it was), "repeat-element" (it arrives in its
/// neighbour's place, too), "swap-elements" (both arrive in each other's place); in batches alone,
/// "batch-lost" (nothing arrives), "batch-stale" (what the run before brought arrives),
/// "batch-damaged" (a bit of the last byte is another one), "batch-short" (an iteration is left
/// out, on all ranks), "batch-word" (no fault: in the word where arrived begins stands whether a
/// batch runs, for work that is faulty then); of stamps,
/// "fast-clock" (counts 1.5 times the time), "slow-clock" (half), "early-stamp" (the last sample
/// ends too early), "lost-work" (a tenth of the time, on the host's clock, too). Throws Error for
/// another word.
std::unique_ptr<Program> inject_fault(std::unique_ptr<Program> program, const std::string& fault,
                                      Device& device, Buffers buffers, Arrived arrived);

}  // namespace wirespeed
