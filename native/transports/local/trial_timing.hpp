// How fast a program is, for transports that choose between protocols by measuring them.
#pragma once

#include "transports/transport.hpp"

namespace wirespeed {

/// Seconds of an iteration on the slowest rank: the median of a few short samples. Every rank calls
/// it.
double trial_seconds(Control& control, Program& program);

/// The same over a longer time: two GPUs that write to each other can be fast for a while only.
double settled_seconds(Control& control, Program& program);

}  // namespace wirespeed
