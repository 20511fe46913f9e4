// How fast a program is, for transports that choose between protocols by measuring them.
#pragma once

#include <limits>

#include "transports/transport.hpp"

namespace wirespeed {

/// Seconds of an iteration on the slowest rank: the median of a few short samples; of long
/// iterations only the first, if it takes far more than the `least` seconds that others took. Every
/// rank calls it, with the same `least`.
double trial_seconds(Control& control, Program& program,
                     double least = std::numeric_limits<double>::infinity());

/// The same over a longer time: two GPUs that write to each other can be fast for a while only.
double settled_seconds(Control& control, Program& program);

}  // namespace wirespeed
