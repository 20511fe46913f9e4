// How the ranks of a program start together.
#pragma once

#include <memory>

#include "transports/transport.hpp"

namespace wirespeed {

/// Can the ranks of this world agree on a moment? Not those of several hosts.
bool can_agree(const Context& context);

/// At a moment that the ranks agree on, where all of them are on one host; else by a barrier, whose
/// ranks leave it one after another. `barrier`: that of a library which moves on only while it is
/// called, so that all ranks must come to it first, and `by` what the record calls it; null: MPI's
/// where there is one.
std::unique_ptr<StartLine> align(Context& context, std::unique_ptr<Action> barrier = nullptr,
                                 const char* by = "dissemination");

}  // namespace wirespeed
