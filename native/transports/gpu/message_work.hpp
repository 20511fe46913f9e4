// Which work of a program the persistent kernel can do by itself, and which it can be ordered with.
#pragma once

#include <span>

#include "kernels/persistent_types.h"
#include "transports/transport.hpp"

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

/// What is done to the message of `send` by the work of the step before, `before`.
WsChange change_before(const Step& before, const Transfer& send, const Buffers& buffers);

/// Is all that works change sent on in the next step, just as it is?
bool works_are_sent_on(std::span<const Step> steps, const Buffers& buffers);

/// Is what `step` receives into out of use once the sends of the step before it are out?
bool is_free_early(const Step& before, const Step& step, const Buffers& buffers);

/// For steps of one message each way with one peer: does the peer's message say that it may be
/// received? The peer sends it when it has all of the step before, which this rank then has sent.
bool is_two_way(std::span<const Step> steps, const Buffers& buffers);

/// What is done to the message of `receive`; nothing: it stays as it is.
WsChange change_of(const Step& step, const Transfer& receive, const Buffers& buffers);

}  // namespace wirespeed
