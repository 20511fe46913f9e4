#include "transports/gpu/gated_work.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/shared_words.hpp"
#include "kernels/persistent_types.h"

namespace wirespeed {
namespace {

constexpr std::size_t kernels_a_graph = 128;
/// Graphs in the queue at most: an end is never far.
constexpr std::size_t most_in_flight = 8;

int iterations_a_graph(std::size_t launches) {
    return static_cast<int>(
        std::max<std::size_t>(kernels_a_graph / std::max<std::size_t>(launches, 1), 1));
}

}  // namespace

GatedWork::GatedWork(Context& context, std::vector<Work> iteration, std::uint32_t steps,
                     std::uint64_t stop)
    : iteration_(std::move(iteration)), steps_(steps),
      gate_(context.device, Memory::device, 3 * cache_line), device_(context.device), stop_(stop),
      stream_(context.device.stream()), clock_(stream_clock(*stream_)),
      batch_(
          *stream_, [this] { enqueue(*stream_, iteration_); },
          iterations_a_graph(iteration_.size()), most_in_flight) {
    for (Work& work : iteration_)
        work.arguments.at(0) = reinterpret_cast<std::uint64_t>(gate_.address());
    reset();
    load();
}

std::uint64_t GatedWork::ready() const {
    return reinterpret_cast<std::uint64_t>(gate_.address() + cache_line);
}
std::uint64_t GatedWork::arrived() const {
    return reinterpret_cast<std::uint64_t>(gate_.address() + 2 * cache_line);
}

void GatedWork::reset() {
    static_assert(sizeof(WsGate) <= cache_line);
    std::vector<std::byte> words(gate_.bytes());
    const WsGate gate{arrived(), ready(), stop_, 0, 0, 0, 0};
    std::memcpy(words.data(), &gate, sizeof gate);
    device_.copy(gate_.address(), words.data(), words.size());
    steps_before_ = 0;
}

/// All kernels once, as if everything had arrived: none is loaded later, while another waits for
/// it.
void GatedWork::load() {
    auto& stop = *reinterpret_cast<std::uint32_t*>(stop_);
    stop = 1;
    enqueue(*stream_, iteration_);
    stream_->wait();
    stop = 0;
    reset();
}

void GatedWork::prepare(const Schedule& schedule) {
    iterations_ = schedule.iterations();
    if (!captures_) return;
    try {
        batch_.prepare(schedule);
        batch_.use_graphs(true);
    } catch (const Unavailable&) {
        captures_ = false;
    }
}

Stamps GatedWork::finish() {
    while (!batch_.done()) {
        batch_.oldest().wait();
        batch_.go_on();
    }
    stream_->done();  // throws what its work threw
    steps_before_ += static_cast<std::uint32_t>(iterations_) * steps_;
    return batch_.stamps();
}

}  // namespace wirespeed
