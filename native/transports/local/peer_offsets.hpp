// Where each transfer lies at its other end: what a one-sided transport must know before it can
// write into a peer's buffer or read from it.
#pragma once

#include <span>
#include <vector>

#include "transports/transport.hpp"

namespace wirespeed {

/// `steps` with every offset replaced by the one at the other end: that of a send is the place in
/// the peer's receive buffer where it lands, that of a receive the place in the peer's send buffer
/// where it comes from. Steps and transfers stand where they stand in `steps`.
///
/// This rank's k-th send to a peer belongs to the k-th receive that the peer has from this rank,
/// steps in order, inside a step the transfers in order; a rank may send to itself.
///
/// Where the steps state their `remote_offset`, on all ranks alike, it is taken, and a rank needs
/// to know of no others; else every rank looks at the lists of all.
///
/// Every rank calls it. Throws Error on every rank when one names a peer that there is not, or
/// when the numbers or the bytes of the two ends differ.
std::vector<Step> peer_offsets(Control& control, std::span<const Step> steps);

}  // namespace wirespeed
