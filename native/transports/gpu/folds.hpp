// Work that combines or copies elements (ws_elements_combine), as the persistent kernel does it by
// itself: kernels/folds.h.
#pragma once

#include <span>

#include "transports/gpu/plan.hpp"

namespace wirespeed {

/// Is all work of these steps of that kind, and no message a list of blocks?
bool can_fold(std::span<const Step> steps);

/// The folds of `steps`, whose transfers are in the op list; it learns which messages folds take.
/// Works that follow each other and add to the same place are one fold. An LL message is a source
/// of its own where nothing else needs it in memory. `most_threads`: of a block.
FoldPlan fold_plan(std::span<const Step> steps, const Buffers& buffers, u64 most_threads,
                   OpList& op_list);

/// Has a fold of `step` to do with the place that `receive` brings data to?
bool folds_touch(const Step& step, const Transfer& receive, const Buffers& buffers);

}  // namespace wirespeed
