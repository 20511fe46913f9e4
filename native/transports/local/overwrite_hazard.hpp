// Can what a peer writes into this rank's memory overwrite what is still in use?
#pragma once

#include <span>

#include "transports/transport.hpp"

namespace wirespeed {

/// Must a one-sided transport wait, before it writes, until the receiver has begun the step? Where
/// some rank sends from the memory that it receives into: a message that came early would overwrite
/// what was not sent yet. Where two senders write to the same place: the later one might be
/// overtaken. Where one sender writes to the same place twice, only if what it writes does not land
/// `in_order`. Not else: nobody reads a receive buffer before run() is over, which is when all of
/// the last iteration has arrived, unless work reads it in between (Buffers::read_between).
///
/// Every rank calls it and gets the same answer.
bool has_overwrite_hazard(Control& control, std::span<const Step> steps, const Buffers& buffers,
                          bool in_order = true);

}  // namespace wirespeed
