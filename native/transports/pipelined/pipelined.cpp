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
    PipelinedProgram(std::shared_ptr<ChunkRings> rings, std::unique_ptr<HostProgram> iterations,
                     std::size_t chunk, By by)
        : rings_(std::move(rings)), iterations_(std::move(iterations)), chunk_(chunk), by_(by) {}
    void meet() override { iterations_->meet(); }
    void begin(const Schedule& schedule) override { iterations_->begin(schedule); }
    Stamps settle() override { return iterations_->settle(); }
    bool has_barrier() const override { return iterations_->has_barrier(); }
    std::string describe() const override {
        return "\"chunk\": " + std::to_string(chunk_) +
               ", \"slots\": " + std::to_string(rings_->slots()) +
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
    std::shared_ptr<ChunkRings> rings_;  ///< outlives the iterations that use it
    std::unique_ptr<HostProgram> iterations_;
    std::size_t chunk_;
    By by_;
    std::string tried_;
};

/// Of a program, over all ranks: what is chosen must not differ between them.
struct CommonTraits {
    std::size_t largest = 0;  ///< message
    By by = By::host;         ///< the least of what the rules give the steps
    bool one_ring = true;     ///< no step has two
};

/// What may be chosen for a program besides the rules.
struct Candidate {
    int shift = 0;         ///< how often the rule's chunk is doubled, or halved
    std::optional<By> by;  ///< instead of the rule's
};

class PipelinedTransport final : public Transport {
  public:
    explicit PipelinedTransport(Context& context) : Transport(context), options_(context) {}

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        prepare(steps);
        const CommonTraits traits = look_at_all(steps);
        auto program = made(steps, buffers, traits, {});
        tune(steps, buffers, traits, program);
        return program;
    }

    std::string describe() const override {
        if (!rings_) return {};
        std::string through = rings_->any_shared() ? "shared memory ring" : "";
        if (rings_->any_messages()) through += through.empty() ? "MPI" : " and MPI";
        std::string text = "\"through\": " + json_text(through) +
                           ", \"pinned_bytes\": " + std::to_string(rings_->pinned_bytes());
        if (!rings_->why_by_host().empty())
            text += ", \"why_by_host\": " + json_text(rings_->why_by_host());
        return text;
    }

  private:
    /// Rings for all pairs in use; every rank comes to the same end.
    void prepare(std::span<const Step> steps) {
        Control& control = context_.control;
        if (here_.empty()) {
            here_ = same_host(control);
            if (!options_.shared) here_.assign(here_.size(), false);
        }
        PairSet needed(control, steps);
        if (rings_ && rings_->pairs().covers(needed)) return;
        if (rings_) needed.add(rings_->pairs());
        rings_.reset();
        rings_ = std::make_shared<ChunkRings>(context_, options_, std::move(needed), here_);
    }

    std::size_t slot() const { return rings_->slot_bytes(); }

    /// The rule's chunk, doubled or halved as often as `shift` says.
    std::size_t chunk_of(std::size_t message, int shift) const {
        if (options_.chunk) return slot();
        const std::size_t chunk = chunk_for(message, slot());
        return shift < 0 ? std::max(chunk >> -shift, std::min(least_slot, chunk))
                         : std::min(chunk << shift, slot());
    }

    std::unique_ptr<PipelinedProgram> made(std::span<const Step> steps, const Buffers& buffers,
                                           const CommonTraits& traits, const Candidate& choice) {
        std::vector<std::unique_ptr<Action>> iteration;
        By slowest = traits.largest > 0 ? By::streams : By::host;
        for (const auto& step : steps) {
            if (step.sends.empty() && step.receives.empty()) continue;
            const By by = choice.by.value_or(by_for(step));
            slowest = std::max(slowest, by_messages(step) ? By::host : by);
            iteration.push_back(made_step(step, buffers, by, choice.shift));
        }
        auto iterations =
            std::make_unique<HostProgram>(context_.page, std::move(iteration), align(context_));
        return std::make_unique<PipelinedProgram>(rings_, std::move(iterations),
                                                  chunk_of(traits.largest, choice.shift), slowest);
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
            if (!rings_->from(peer).shared)
                movers.push_back(message_mover(RingSide::receive, rings_->from(peer), chunks));
        for (auto& [peer, chunks] : sends) {
            ChunkRing& ring = rings_->to(peer);
            movers.push_back(ring.shared ? std::make_unique<RingMover>(context_, ring,
                                                                       RingSide::send, chunks, by)
                                         : message_mover(RingSide::send, ring, chunks));
        }
        for (auto& [peer, chunks] : receives)
            if (ChunkRing& ring = rings_->from(peer); ring.shared)
                movers.push_back(
                    std::make_unique<RingMover>(context_, ring, RingSide::receive, chunks, by));
        return std::make_unique<PipelinedStep>(context_.page, std::move(movers));
    }

    std::unique_ptr<Mover> message_mover(RingSide direction, ChunkRing& ring,
                                         const std::vector<Chunk>& chunks) {
        return std::visit(
            [&](auto& world) -> std::unique_ptr<Mover> {
                using Abi = typename std::decay_t<decltype(world)>::abi;
                Page& page = context_.page;
                if (direction == RingSide::send)
                    return std::make_unique<MessageSender<Abi>>(
                        world, context_.device, page.name("send chunks (MPI_Isend)"), ring, chunks);
                return std::make_unique<MessageReceiver<Abi>>(
                    world, context_.device, page.name("receive chunks (MPI_Irecv)"), ring, chunks);
            },
            mpi::world());
    }

    /// The CPU hands over best: streams that wait for words leave gaps between copies.
    By by_for(const Step&) const {
        if (!rings_->why_by_host().empty()) return By::host;
        return options_.by;
    }

    static std::size_t rings_of(const Step& step) {
        std::set<std::pair<bool, int>> rings;
        for (const auto& transfer : step.sends) rings.insert({true, transfer.peer});
        for (const auto& transfer : step.receives) rings.insert({false, transfer.peer});
        return rings.size();
    }

    bool by_messages(const Step& step) const {
        const auto far = [&](const Transfer& transfer) {
            return !here_[static_cast<std::size_t>(transfer.peer)];
        };
        return std::any_of(step.sends.begin(), step.sends.end(), far) ||
               std::any_of(step.receives.begin(), step.receives.end(), far);
    }

    CommonTraits look_at_all(std::span<const Step> steps) const {
        CommonTraits mine;
        for (const auto& step : steps) {
            for (const auto* transfers : {&step.sends, &step.receives})
                for (const auto& transfer : *transfers)
                    mine.largest = std::max(mine.largest, transfer.bytes);
            if (!by_messages(step)) mine.by = std::min(mine.by, by_for(step));
            mine.one_ring = mine.one_ring && rings_of(step) <= 1;
        }
        CommonTraits traits;
        for (const auto& each : exchange(context_.control, [&] { return mine; })) {
            traits.largest = std::max(traits.largest, each.largest);
            traits.by = std::min(traits.by, each.by);
            traits.one_ring = traits.one_ring && each.one_ring;
        }
        return traits;
    }

    /// What to try besides the rules' choice: the same on all ranks. A stream that waits for a peer
    /// may hold up other streams of this device, where the driver has them share a hardware queue:
    /// with one ring in each step, there is nothing to hold up that the peer could need.
    std::vector<Candidate> others(const CommonTraits& traits, bool one_ring) const {
        const std::size_t chunk = chunk_of(traits.largest, 0);
        std::vector<Candidate> choices;
        if (traits.largest > chunk)
            for (const int shift : {-1, 1})
                if (chunk_of(traits.largest, shift) != chunk) choices.push_back({shift, {}});
        if (!options_.automatic || traits.largest == 0) return choices;
        // A single chunk may be handed over sooner by the streams.
        if (traits.largest <= chunk && traits.by == By::host && rings_->why_by_host().empty() &&
            one_ring)
            choices.push_back({0, By::streams});
        return choices;
    }

    /// Measures, and takes the best; every rank comes to the same choice. Long iterations gain
    /// little.
    void tune(std::span<const Step> steps, const Buffers& buffers, const CommonTraits& traits,
              std::unique_ptr<PipelinedProgram>& program) {
        constexpr double too_long = 0.01, enough = 0.001;
        const auto candidates = others(traits, traits.one_ring);
        if (candidates.empty()) return;
        const double once = slowest_rank(*program, 1);
        if (once > too_long) return;
        const int samples = static_cast<int>(std::clamp(enough / once, 5.0, 50.0));
        double best = slowest_rank(*program, samples);
        std::string tried = program->outcome(best);
        for (const auto& candidate : candidates) {
            auto other = made(steps, buffers, traits, candidate);
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
    std::shared_ptr<ChunkRings> rings_;
};

const AddTransport add_pipelined{"pipelined", open_as<PipelinedTransport>};

}  // namespace
}  // namespace wirespeed
