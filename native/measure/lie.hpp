// A program that lies: the test of the payload check. It runs the true program and then damages
// what arrived, as a faulty transport would.
#pragma once

#include <memory>
#include <string>

#include "measure/program.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// what: "drop-byte" (the last byte stays as it was before the round), "drop-round" (nothing
/// arrives), "repeat-round" (the round before arrives again). Throws Error for another word.
std::unique_ptr<Program> make_liar(std::unique_ptr<Program> truth, const std::string& what,
                                   Device& device, Buffers buffers, std::size_t received);

}  // namespace wirespeed
