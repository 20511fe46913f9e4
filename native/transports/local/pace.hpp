// How fast a program is, for transports that choose between ways by measuring them.
#pragma once

#include "transports/transport.hpp"

namespace wirespeed {

/// Seconds of a round on the slowest rank: the median of a few short samples. Every rank calls it.
double pace(Control& control, Program& program);

/// The same over a longer time: two GPUs that write to each other can be fast for a while only.
double settled_pace(Control& control, Program& program);

}  // namespace wirespeed
