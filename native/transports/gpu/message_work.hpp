// Which work of a program the persistent kernel can do by itself, and which it can be ordered with.
#pragma once

#include <span>

#include "transports/gpu/plan.hpp"

namespace wirespeed {

/// Who does a program's work, the best first.
enum class WorkBy {
    kernel,  ///< the persistent kernel, on each message as it arrives
    folds,   ///< the persistent kernel, which combines messages with what lies here
    soak,    ///< the persistent kernel, which checks short messages between two steps
    gate,    ///< kernels beside it, ordered by flags
    host     ///< kernels between two launches
};

/// The best that is possible on all ranks for their steps. Every rank calls it.
WorkBy agreed_work(Control& control, std::span<const Step> steps, const Buffers& buffers);

/// The plan of work on messages; the op list, which has the transfers of `steps`, learns of it.
InPlacePlan in_place_plan(std::span<const Step> steps, const Buffers& buffers, OpList& op_list);

/// Is what `step` receives into out of use once the sends of the step before it are out?
bool is_free_early(const Step& before, const Step& step, const Buffers& buffers);

/// Is each step one message to the same peer and one from the same?
bool is_in_turn(std::span<const Step> steps);

/// Does a message that comes say by itself that its place is free? With one peer it does: the peer
/// sends it when it has all of the step before, which this rank then has sent.
bool says_it_is_free(std::span<const Step> steps, const Buffers& buffers);

}  // namespace wirespeed
