#include "transports/gpu/gated_work.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "kernels/persistent_types.h"

namespace wirespeed {
namespace {

constexpr std::size_t line = 128;  ///< words that different kernels write share no cache line
constexpr std::uint64_t kernels_a_graph = 128;
/// Graphs in the queue at most: the stream never runs dry, and an end is never far.
constexpr std::size_t most_in_flight = 8;

}  // namespace

GatedWork::GatedWork(Context& context, std::vector<Work> iteration, std::uint32_t steps,
                     std::uint64_t stop)
    : iteration_(std::move(iteration)), steps_(steps),
      piece_(std::max<std::uint64_t>(kernels_a_graph / std::max<std::size_t>(iteration_.size(), 1),
                                     1)),
      gate_(context.device, Memory::device, 3 * line), device_(context.device), stop_(stop),
      stream_(context.device.stream()) {
    for (Work& work : iteration_)
        work.arguments.at(0) = reinterpret_cast<std::uint64_t>(gate_.address());
    reset();
    load();
}

std::uint64_t GatedWork::ready() const {
    return reinterpret_cast<std::uint64_t>(gate_.address() + line);
}
std::uint64_t GatedWork::arrived() const {
    return reinterpret_cast<std::uint64_t>(gate_.address() + 2 * line);
}

void GatedWork::reset() {
    static_assert(sizeof(WsGate) <= line);
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

void GatedWork::prepare(std::uint64_t iterations) {
    all_ = left_ = iterations;
    for (const std::uint64_t count : {std::min(iterations, piece_), iterations % piece_}) {
        if (!captures_ || count == 0 || graphs_.count(count)) continue;
        try {
            graphs_[count] = stream_->capture([&] {
                for (std::uint64_t i = 0; i < count; ++i) enqueue(*stream_, iteration_);
            });
        } catch (const Unavailable&) {
            captures_ = false;
        }
    }
}

void GatedWork::put(std::uint64_t iterations) {
    if (captures_)
        graphs_.at(iterations)->launch();
    else
        for (std::uint64_t i = 0; i < iterations; ++i) enqueue(*stream_, iteration_);
    auto event = stream_->event(false);
    event->record();
    in_flight_.push_back(std::move(event));
    left_ -= iterations;
}

void GatedWork::go_on() {
    while (!in_flight_.empty() && in_flight_.front()->reached()) in_flight_.pop_front();
    while (left_ && in_flight_.size() < most_in_flight) put(std::min(left_, piece_));
}

void GatedWork::finish() {
    while (left_) go_on();
    stream_->wait();
    in_flight_.clear();
    steps_before_ += static_cast<std::uint32_t>(all_) * steps_;
}

}  // namespace wirespeed
