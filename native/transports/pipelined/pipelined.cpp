// Staging in chunks: while one chunk is copied from the device, the one before it is copied to the
// other device. Ranks of a host share the pinned memory between the two copies; between hosts MPI
// sends the chunks.
#include <sched.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/json.hpp"
#include "measure/timed_loop.hpp"
#include "transports/align.hpp"
#include "transports/local/exchange.hpp"
#include "transports/pipelined/message_mover.hpp"
#include "transports/pipelined/ring_mover.hpp"

namespace wirespeed {
namespace {

using namespace pipelined;

/// All of a step's transfers, in flight at once and driven by this loop alone.
class PipelinedStep final : public Action {
  public:
    PipelinedStep(Page& page, std::vector<std::unique_ptr<Mover>> movers)
        : page_(page), movers_(std::move(movers)), ended_(movers_.size()) {}

    void run() override {
        std::fill(ended_.begin(), ended_.end(), false);
        for (auto& mover : movers_) mover->start();
        try {
            for (unsigned turns = 0; !turn(); ++turns)
                if (turns > patience) sched_yield();
        } catch (...) {
            for (auto& mover : movers_) mover->abandon();
            throw;
        }
    }

  private:
    static constexpr unsigned patience = 4000;

    bool turn() {
        bool all = true;
        for (std::size_t i = 0; i < movers_.size(); ++i) {
            if (ended_[i]) continue;
            page_.enter(movers_[i]->call(), movers_[i]->peer());
            ended_[i] = movers_[i]->progress();
            all = all && ended_[i];
        }
        return all;
    }

    Page& page_;
    std::vector<std::unique_ptr<Mover>> movers_;
    std::vector<bool> ended_;
};

/// Iterations run by the CPU, and what was chosen for them.
class PipelinedProgram final : public Program {
  public:
    PipelinedProgram(std::shared_ptr<Lanes> lanes, std::unique_ptr<HostProgram> iterations,
                     std::size_t chunk, By by)
        : lanes_(std::move(lanes)), iterations_(std::move(iterations)), chunk_(chunk), by_(by) {}
    void meet() override { iterations_->meet(); }
    void begin(const Schedule& schedule) override { iterations_->begin(schedule); }
    Stamps settle() override { return iterations_->settle(); }
    bool has_barrier() const override { return iterations_->has_barrier(); }
    std::string describe() const override {
        return "\"chunk\": " + std::to_string(chunk_) +
               ", \"slots\": " + std::to_string(lanes_->slots()) +
               ", \"by\": " + json_text(word_for(by_)) +
               (tried_.empty() ? "" : ", \"tried_us\": {" + tried_ + "}");
    }
    /// `"1048576 by streams": 52.1`
    std::string outcome(double seconds) const {
        return json_text(std::to_string(chunk_) + " by " + word_for(by_)) + ": " +
               std::to_string(seconds * 1e6);
    }
    void tried(std::string outcomes) { tried_ = std::move(outcomes); }

  private:
    std::shared_ptr<Lanes> lanes_;  ///< outlives the iterations that use it
    std::unique_ptr<HostProgram> iterations_;
    std::size_t chunk_;
    By by_;
    std::string tried_;
};

/// Of a program, over all ranks: what is chosen must not differ between them.
struct World {
    std::size_t largest = 0;  ///< message
    By by = By::host;         ///< the least of what the rules give the steps
    bool one_lane = true;     ///< no step has two
};

/// What may be chosen for a program besides the rules.
struct Choice {
    int shift = 0;         ///< how often the rule's chunk is doubled, or halved
    std::optional<By> by;  ///< instead of the rule's
};

class PipelinedTransport final : public Transport {
  public:
    explicit PipelinedTransport(Context& context) : Transport(context), options_(context) {}

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        prepare(steps);
        const World world = look_at_all(steps);
        auto program = made(steps, buffers, world, {});
        tune(steps, buffers, world, program);
        return program;
    }

    std::string describe() const override {
        if (!lanes_) return {};
        std::string through = lanes_->any_shared() ? "shared memory ring" : "";
        if (lanes_->any_messages()) through += through.empty() ? "MPI" : " and MPI";
        std::string text = "\"through\": " + json_text(through) +
                           ", \"pinned_bytes\": " + std::to_string(lanes_->pinned_bytes());
        if (!lanes_->why_by_host().empty())
            text += ", \"why_by_host\": " + json_text(lanes_->why_by_host());
        return text;
    }

  private:
    /// Lanes for all pairs in use; every rank comes to the same end.
    void prepare(std::span<const Step> steps) {
        Control& control = context_.control;
        if (here_.empty()) {
            here_ = same_host(control);
            if (!options_.shared) here_.assign(here_.size(), false);
        }
        Pairs needed(control, steps);
        if (lanes_ && lanes_->pairs().covers(needed)) return;
        if (lanes_) needed.add(lanes_->pairs());
        lanes_.reset();
        lanes_ = std::make_shared<Lanes>(context_, options_, std::move(needed), here_);
    }

    std::size_t slot() const { return lanes_->slot_bytes(); }

    /// The rule's chunk, doubled or halved as often as `shift` says.
    std::size_t chunk_of(std::size_t message, int shift) const {
        if (options_.chunk) return slot();
        const std::size_t chunk = chunk_for(message, slot());
        return shift < 0 ? std::max(chunk >> -shift, std::min(least_slot, chunk))
                         : std::min(chunk << shift, slot());
    }

    std::unique_ptr<PipelinedProgram> made(std::span<const Step> steps, const Buffers& buffers,
                                           const World& world, const Choice& choice) {
        std::vector<std::unique_ptr<Action>> iteration;
        By slowest = world.largest > 0 ? By::streams : By::host;
        for (const auto& step : steps) {
            if (step.sends.empty() && step.receives.empty()) continue;
            const By by = choice.by.value_or(by_for(step));
            slowest = std::max(slowest, by_messages(step) ? By::host : by);
            iteration.push_back(made_step(step, buffers, by, choice.shift));
        }
        auto iterations =
            std::make_unique<HostProgram>(context_.page, std::move(iteration), align(context_));
        return std::make_unique<PipelinedProgram>(lanes_, std::move(iterations),
                                                  chunk_of(world.largest, choice.shift), slowest);
    }

    std::unique_ptr<Action> made_step(const Step& step, const Buffers& buffers, By by, int shift) {
        std::map<int, std::vector<Chunk>> sends, receives;
        const auto add = [&](auto& chunks, const auto& transfers, std::byte* base) {
            for (const auto& transfer : transfers) {
                std::byte* address = base + transfer.offset;
                for (const std::size_t bytes :
                     pipelined::cut(transfer.bytes, chunk_of(transfer.bytes, shift))) {
                    chunks[transfer.peer].push_back({address, bytes});
                    address += bytes;
                }
            }
        };
        add(sends, step.sends, buffers.send);
        add(receives, step.receives, buffers.receive);
        std::vector<std::unique_ptr<Mover>> movers;
        // MPI wants to know early where a message shall go; a ring's data waits in the ring.
        for (auto& [peer, chunks] : receives)
            if (!lanes_->from(peer).shared)
                movers.push_back(message_mover(Direction::receive, lanes_->from(peer), chunks));
        for (auto& [peer, chunks] : sends) {
            Lane& lane = lanes_->to(peer);
            movers.push_back(lane.shared ? std::make_unique<RingMover>(context_, lane,
                                                                       Direction::send, chunks, by)
                                         : message_mover(Direction::send, lane, chunks));
        }
        for (auto& [peer, chunks] : receives)
            if (Lane& lane = lanes_->from(peer); lane.shared)
                movers.push_back(
                    std::make_unique<RingMover>(context_, lane, Direction::receive, chunks, by));
        return std::make_unique<PipelinedStep>(context_.page, std::move(movers));
    }

    std::unique_ptr<Mover> message_mover(Direction direction, Lane& lane,
                                         const std::vector<Chunk>& chunks) {
        return std::visit(
            [&](auto& world) -> std::unique_ptr<Mover> {
                using Abi = typename std::decay_t<decltype(world)>::abi;
                Page& page = context_.page;
                if (direction == Direction::send)
                    return std::make_unique<MessageSender<Abi>>(
                        world, context_.device, page.name("send chunks (MPI_Isend)"), lane, chunks);
                return std::make_unique<MessageReceiver<Abi>>(
                    world, context_.device, page.name("receive chunks (MPI_Irecv)"), lane, chunks);
            },
            mpi::world());
    }

    /// The CPU hands over best: streams that wait for words leave gaps between copies.
    By by_for(const Step&) const {
        if (!lanes_->why_by_host().empty()) return By::host;
        return options_.by;
    }

    static std::size_t lanes_of(const Step& step) {
        std::set<std::pair<bool, int>> lanes;
        for (const auto& transfer : step.sends) lanes.insert({true, transfer.peer});
        for (const auto& transfer : step.receives) lanes.insert({false, transfer.peer});
        return lanes.size();
    }

    bool by_messages(const Step& step) const {
        const auto far = [&](const Transfer& transfer) {
            return !here_[static_cast<std::size_t>(transfer.peer)];
        };
        return std::any_of(step.sends.begin(), step.sends.end(), far) ||
               std::any_of(step.receives.begin(), step.receives.end(), far);
    }

    World look_at_all(std::span<const Step> steps) const {
        World mine;
        for (const auto& step : steps) {
            for (const auto* transfers : {&step.sends, &step.receives})
                for (const auto& transfer : *transfers)
                    mine.largest = std::max(mine.largest, transfer.bytes);
            if (!by_messages(step)) mine.by = std::min(mine.by, by_for(step));
            mine.one_lane = mine.one_lane && lanes_of(step) <= 1;
        }
        World world;
        for (const auto& each : exchange(context_.control, [&] { return mine; })) {
            world.largest = std::max(world.largest, each.largest);
            world.by = std::min(world.by, each.by);
            world.one_lane = world.one_lane && each.one_lane;
        }
        return world;
    }

    /// What to try besides the rules' choice: the same on all ranks. A stream that waits for a peer
    /// may hold up other streams of this device, where the driver has them share a hardware queue:
    /// with one lane in each step, there is nothing to hold up that the peer could need.
    std::vector<Choice> others(const World& world, bool one_lane) const {
        const std::size_t chunk = chunk_of(world.largest, 0);
        std::vector<Choice> choices;
        if (world.largest > chunk)
            for (const int shift : {-1, 1})
                if (chunk_of(world.largest, shift) != chunk) choices.push_back({shift, {}});
        if (!options_.automatic || world.largest == 0) return choices;
        // A single chunk may be handed over sooner by the streams.
        if (world.largest <= chunk && world.by == By::host && lanes_->why_by_host().empty() &&
            one_lane)
            choices.push_back({0, By::streams});
        return choices;
    }

    /// Measures, and takes the best; every rank comes to the same choice. Long iterations gain
    /// little.
    void tune(std::span<const Step> steps, const Buffers& buffers, const World& world,
              std::unique_ptr<PipelinedProgram>& program) {
        constexpr double too_long = 0.01, enough = 0.001;
        const auto candidates = others(world, world.one_lane);
        if (candidates.empty()) return;
        const double once = slowest_rank(*program, 1);
        if (once > too_long) return;
        const int samples = static_cast<int>(std::clamp(enough / once, 5.0, 50.0));
        double best = slowest_rank(*program, samples);
        std::string tried = program->outcome(best);
        for (const auto& candidate : candidates) {
            auto other = made(steps, buffers, world, candidate);
            const double seconds = slowest_rank(*other, samples);
            tried += ", " + other->outcome(seconds);
            if (seconds >= best) continue;
            best = seconds;
            program = std::move(other);
        }
        program->tried(tried);
    }

    /// The seconds of an iteration, best of some, on the rank that took longest.
    double slowest_rank(Program& program, int samples) {
        double slowest = 0;
        for (const double seconds : exchange(context_.control, [&] {
                 std::vector<double> each(static_cast<std::size_t>(samples));
                 run_samples(program, {1, 1, samples}, each);
                 return *std::min_element(each.begin(), each.end());
             }))
            slowest = std::max(slowest, seconds);
        return slowest;
    }

    Options options_;
    std::vector<bool> here_;
    std::shared_ptr<Lanes> lanes_;
};

const AddTransport add_pipelined{"pipelined", open_as<PipelinedTransport>};

}  // namespace
}  // namespace wirespeed
