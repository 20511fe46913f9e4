// Work that combines or copies elements (ws_elements_combine), as the persistent kernel does it by
// itself: kernels/folds.h.
#pragma once

#include <span>
#include <vector>

#include "kernels/persistent_types.h"
#include "transports/transport.hpp"

namespace wirespeed {

/// A rank's folds, as the kernel takes them.
struct FoldPlan {
    std::vector<WsFoldStep> steps;
    std::vector<WsFold> folds;
    std::vector<WsSource> sources;
    bool can_pull = false;  ///< messages may stay at their senders until they are folded or copied
};

/// Is all work of these steps of that kind?
bool can_fold(std::span<const Step> steps);

/// Works that follow each other and add to the same place are one fold. An LL message is a source
/// of its own where nothing else needs it in memory.
FoldPlan folds_of(std::span<const Step> steps, const Buffers& buffers);

/// Has a fold of `step` to do with the place that `receive` brings data to?
bool folds_touch(const Step& step, const Transfer& receive, const Buffers& buffers);
/// Does a fold of `step` write to the place that `send` is sent from?
bool folds_write(const Step& step, const Transfer& send, const Buffers& buffers);

}  // namespace wirespeed
