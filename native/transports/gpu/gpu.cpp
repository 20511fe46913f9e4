// Transfers started by the GPU itself: a persistent kernel writes into the peers' memory and
// signals them; all iterations of a batch are one launch. The protocol is the one measured to be
// fastest.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "measure/clock.hpp"
#include "transports/gpu/folds.hpp"
#include "transports/gpu/mailbox.hpp"
#include "transports/gpu/message_work.hpp"
#include "transports/gpu/persistent.hpp"
#include "transports/gpu/protocols.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_buffers.hpp"
#include "transports/local/peer_offsets.hpp"

namespace wirespeed {
namespace {

constexpr std::size_t packet = 16;
constexpr std::uint32_t most_slots = 64;

/// What all ranks must agree on before a program is made.
struct Extent {
    std::size_t largest = 0;   ///< bytes of a transfer
    std::uint32_t window = 0;  ///< most transfers of one pair in one step
    bool near = true;          ///< transfers and steps fit what LL needs
    bool lists = false;        ///< some are lists of blocks
    bool works = false;        ///< some step has work
    u64 packet_bytes = 0;      ///< in a packet of LL

    std::uint32_t packets_of(std::size_t bytes) const {
        const std::size_t count = (bytes + packet_bytes - 1) / packet_bytes;
        return static_cast<std::uint32_t>(std::clamp<std::size_t>(count, 1, UINT32_MAX));
    }
};

class GpuTransport final : public Transport {
  public:
    explicit GpuTransport(Context& context)
        : Transport(context), buffers_(context, "gpu"), facts_(start(context)),
          clock_(agreed_clock(context, facts_, "gpu")),
          protocols_(context, facts_, agreed_blocks()), mailbox_(context, protocols_.blocks()),
          counts_(static_cast<std::size_t>(context.control.size())) {
        // For tests: as if every pair had done so many transfers before.
        const std::size_t before = context.number("transfers-before", 0, 0, SIZE_MAX);
        for (Count& count : counts_) {
            count.sent = count.received = static_cast<std::uint32_t>(before);
            count.stale = before;
        }
    }

    void close() override { mailbox_.close(); }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        return buffers_.allocate(kind, bytes);
    }
    void release(Buffers& buffers) override { buffers_.release(buffers); }
    void abandon(Buffers& buffers) noexcept override { buffers_.abandon(buffers); }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        return make_program(steps, buffers, WorkBy::kernel);
    }

    std::unique_ptr<Program> compile_with_work(std::span<const Step> steps,
                                               const Buffers& buffers) override {
        const WorkBy by = agreed_work(context_.control, steps, buffers);
        if (by == WorkBy::host) return Transport::compile_with_work(steps, buffers);
        return make_program(steps, buffers, by);
    }

    bool takes_gated_work() const override { return true; }

    std::string describe() const override {
        return "\"clock_ns\": " + std::to_string(std::lround(1e9 * clock_.step)) +
               ", \"packet_bytes\": " + std::to_string(facts_.packet_bytes) +
               ", \"tma\": " + (facts_.has_tma ? "true" : "false") +
               ", \"most_blocks\": " + std::to_string(protocols_.blocks());
    }

  private:
    std::unique_ptr<Program> make_program(std::span<const Step> given, const Buffers& buffers,
                                          WorkBy by) {
        const std::vector<Step> their_blocks = peer_offsets(context_.control, given);
        const std::vector<Step> steps = with_whole_lists(given, given);
        const std::vector<Step> theirs = with_whole_lists(their_blocks, given);
        Extent extent = agree(steps);
        extent.packet_bytes = by == WorkBy::folds ? WS_FOLD_PACKET : facts_.packet_bytes;
        Preparation preparation;
        OpList op_list;
        // Blocks of a kernel go on by themselves: one may be a message ahead of another.
        op_list.guarded = has_overwrite_hazard(context_.control, given, buffers, false);
        lay_out(op_list, extent);
        const auto* const like =
            buffers.like ? dynamic_cast<const PersistentProgram*>(&buffers.like->innermost())
                         : nullptr;
        if (by == WorkBy::soak &&
            (op_list.slots == 0 || extent.lists || (like && like->tuning().protocol != ws_ll)))
            by = WorkBy::gate;
        exchange(context_.control, [&] {
            write(op_list, steps, theirs, buffers);
            set_plan(op_list, steps, buffers, by, extent);
            for (OpList::Op& each : op_list.ops) each.op.packets = extent.packets_of(each.op.bytes);
            if (extent.lists) add_lists(op_list, given, their_blocks, preparation);
            return true;
        });
        op_list.agree(context_.control, says_it_is_free(steps, buffers));
        if (auto* const gated = std::get_if<GatedPlan>(&op_list.plan); gated && like)
            gated->like = like->tuning().protocol;
        std::vector<Tuning> tunings =
            protocols_.candidates(extent.largest, extent.packets_of(extent.largest), op_list);
        const std::optional<Tuning> same =
            like ? op_list.choices().nearest(like->tuning()) : std::nullopt;
        const std::vector<u64> numbers = numbers_of(steps, extent, op_list);
        std::unique_ptr<PersistentProgram> program;
        exchange(context_.control, [&] {
            program = std::make_unique<PersistentProgram>(
                context_, mailbox_, counts_, std::move(op_list), tunings.front(), clock_);
            return true;
        });
        if (same)
            protocols_.take(*program, *same);
        else
            protocols_.choose(*program, std::move(tunings), extent.largest, numbers);
        return preparation.noted(std::move(program));
    }

    static PlatformFacts start(Context& context) {
        refuse_shared_devices(context, "gpu");
        const auto all = exchange(context.control, [&] { return platform_facts(context.device); });
        PlatformFacts facts = all[static_cast<std::size_t>(context.control.rank())];
        for (const PlatformFacts& each : all) {
            facts.has_tma = facts.has_tma && each.has_tma;
            if (each.packet_bytes != facts.packet_bytes)
                throw Unavailable("gpu: the ranks' GPUs have LL packets of different sizes");
        }
        return facts;
    }

    std::uint32_t agreed_blocks() {
        const auto all = exchange(context_.control, [&] {
            return std::clamp(context_.device.resident_blocks(), 1u, Protocols::most_blocks);
        });
        return *std::min_element(all.begin(), all.end());
    }

    Extent agree(std::span<const Step> steps) {
        Extent mine;
        std::size_t ops = 0;
        for (const Step& step : steps) {
            mine.works = mine.works || step.has_work();
            std::vector<std::uint32_t> in_step(counts_.size());
            for (const auto* transfers : {&step.sends, &step.receives}) {
                std::fill(in_step.begin(), in_step.end(), 0);
                for (const Transfer& transfer : *transfers) {
                    mine.largest = std::max(mine.largest, transfer.bytes);
                    mine.lists = mine.lists || transfer.list;
                    auto& count = in_step[static_cast<std::size_t>(transfer.peer)];
                    mine.window = std::max(mine.window, ++count);
                    ++ops;
                }
            }
        }
        mine.near = ops <= WS_NEAR && steps.size() <= WS_NEAR;
        Extent all = mine;
        for (const Extent& each : exchange(context_.control, [&] { return mine; })) {
            all.largest = std::max(all.largest, each.largest);
            all.lists = all.lists || each.lists;
            all.works = all.works || each.works;
            all.window = std::max(all.window, each.window);
            all.near = all.near && each.near;
        }
        return all;
    }

    /// Cuts the rings into slots for this program; none where its messages do not fit.
    void lay_out(OpList& op_list, const Extent& extent) const {
        const std::size_t slot = (extent.packets_of(extent.largest) * packet + 127) / 128 * 128;
        op_list.slot_packets = static_cast<std::uint32_t>(slot / packet);
        op_list.slots = std::bit_floor(static_cast<std::uint32_t>(
            std::min<std::size_t>(mailbox_.ring_bytes() / slot, most_slots)));
        // A whole step's messages may still be there when those of the next one arrive.
        if (!extent.near || op_list.slots < 2 * extent.window) op_list.slots = 0;
    }

    /// The messages, whatever is done with them.
    void write(OpList& op_list, std::span<const Step> steps, std::span<const Step> theirs,
               const Buffers& buffers) {
        op_list.sent.assign(counts_.size(), 0);
        op_list.received = op_list.sent;
        for (std::size_t s = 0; s < steps.size(); ++s) {
            const auto& [sends, receives] = std::tie(steps[s].sends, steps[s].receives);
            for (std::size_t i = 0; i < sends.size(); ++i)
                op_list.ops.push_back(
                    make_op(true, sends[i], theirs[s].sends[i].offset, buffers, op_list.sent));
            for (std::size_t i = 0; i < receives.size(); ++i)
                op_list.ops.push_back(make_op(false, receives[i], theirs[s].receives[i].offset,
                                              buffers, op_list.received));
            WsStep& step = op_list.steps.emplace_back();
            step.sends = static_cast<std::uint32_t>(sends.size());
            step.receives = static_cast<std::uint32_t>(receives.size());
            if (sends_and_receives_cross(steps[s], buffers)) continue;
            step.sends_alike = are_alike(sends);
            step.receives_alike = are_alike(receives);
        }
        std::set<int> peers;
        for (auto& [peer, sends, op] : op_list.ops) {
            op.each = (sends ? op_list.sent : op_list.received)[static_cast<std::size_t>(peer)];
            peers.insert(peer);
        }
        op_list.peers.assign(peers.begin(), peers.end());
    }

    void set_plan(OpList& op_list, std::span<const Step> steps, const Buffers& buffers, WorkBy by,
                  const Extent& extent) {
        if (by == WorkBy::soak)
            op_list.plan = soak_plan(steps, op_list.steps);
        else if (by == WorkBy::gate)
            op_list.plan = gated_plan(steps);
        else if (by == WorkBy::folds)
            op_list.plan = with_landing(fold_plan(steps, buffers, facts_.most_threads, op_list),
                                        op_list, extent.largest);
        else if (extent.works)
            op_list.plan = in_place_plan(steps, buffers, op_list);
        else
            op_list.plan = MessagePlan{{}, is_in_turn(steps)};
        op_list.alike = !op_list.steps.empty() && op_list.steps[0].receives_alike;
        if (by == WorkBy::soak || by == WorkBy::gate) return;
        for (std::size_t s = 0; s < steps.size(); ++s) {
            const Step& before = steps[(s + steps.size() - 1) % steps.size()];
            op_list.steps[s].works = steps[s].has_work();
            op_list.steps[s].early = is_free_early(before, steps[s], buffers);
        }
    }

    /// The places of what this rank's lists send. The kernel takes one after the other.
    void add_lists(OpList& op_list, std::span<const Step> mine, std::span<const Step> theirs,
                   Preparation& preparation) {
        auto& tables = op_list.lists.emplace();
        std::size_t op = 0;
        for (std::size_t s = 0; s < mine.size(); ++s) {
            op_list.steps[s].sends_alike = 0;
            const Transfer* there = theirs[s].sends.data();
            for (const auto list : lists_of(mine[s].sends)) {
                std::vector<Piece> pieces;
                for (const Transfer& block : list) {
                    const Transfer& target = *there++;
                    pieces.push_back({target.offset, block.offset, block.bytes});
                }
                WsOp& sent = op_list.ops[op++].op;
                if (!list.front().list) continue;
                const auto least = [&](auto member) {
                    return std::ranges::min(pieces, {}, member).*member;
                };
                const auto at = least(&Piece::at), content = least(&Piece::content);
                for (Piece& each : pieces) {
                    each.at -= at;
                    each.content -= content;
                }
                preparation.add([&] { tables.emplace_back(context_.device, pieces, 1); });
                sent.work = ws_list_work;
                sent.operand = tables.back().list();
            }
            op += lists_of(mine[s].receives).size();
        }
    }

    /// Several messages of equal length.
    static bool are_alike(std::span<const Transfer> transfers) {
        return transfers.size() > 1 && std::ranges::all_of(transfers, [&](const Transfer& each) {
                   return each.bytes == transfers[0].bytes;
               });
    }

    /// Does a message arrive where another one of the step is sent from?
    static bool sends_and_receives_cross(const Step& step, const Buffers& buffers) {
        return std::ranges::any_of(step.sends, [&](const Transfer& send) {
            const std::byte* const from = buffers.send + send.offset;
            return std::ranges::any_of(step.receives, [&](const Transfer& receive) {
                const std::byte* const to = buffers.receive + receive.offset;
                return from < to + receive.bytes && to < from + send.bytes;
            });
        });
    }

    /// One exchange of a message with each of some peers, which its folds alone read: it lands
    /// outside the buffers, in two places by turns, if there is room.
    FoldPlan with_landing(FoldPlan plan, OpList& op_list, std::size_t largest) {
        const u64 stride = (largest + 127) / 128 * 128;
        std::set<int> to, from;
        for (const auto& [peer, sends, op] : op_list.ops)
            if (!(sends ? to : from).insert(peer).second || (!sends && op.work != ws_fold_work))
                return plan;
        if (2 * stride > mailbox_.ring_bytes() || op_list.steps.size() != 1 || to != from)
            return plan;
        plan.double_buffer_stride = stride;
        const int me = context_.control.rank();
        for (auto& [peer, sends, op] : op_list.ops)
            op.operand = sends ? mailbox_.landing(peer, me) : mailbox_.landing(me, peer);
        return plan;
    }

    OpList::Op make_op(bool sends, const Transfer& transfer, std::size_t offset,
                       const Buffers& buffers, std::vector<std::uint32_t>& count) {
        const int me = context_.control.rank(), peer = transfer.peer;
        const int sender = sends ? me : peer, receiver = sends ? peer : me;
        std::byte* const mine = sends ? buffers.send : buffers.receive;
        std::byte* const theirs =
            sends ? buffers_.receive_of(buffers, peer) : buffers_.send_of(buffers, peer);
        WsOp op{};
        op.mine = reinterpret_cast<u64>(mine + transfer.offset);
        op.theirs = reinterpret_cast<u64>(theirs + offset);
        op.bytes = transfer.bytes;
        op.ring = mailbox_.ring(receiver, sender);
        op.flags = mailbox_.flags(receiver, sender);
        op.ready_flags = mailbox_.ready_flags(sender, receiver);
        op.credit = mailbox_.credit(sender, receiver);
        op.place = ++count[static_cast<std::size_t>(peer)];
        return {peer, sends, op};
    }

    /// Two programs of the same numbers move the same bytes between the same ranks.
    static std::vector<u64> numbers_of(std::span<const Step> steps, const Extent& extent,
                                       const OpList& op_list) {
        std::vector<u64> numbers{extent.largest,  extent.window, op_list.slots,
                                 op_list.guarded, extent.lists,  op_list.plan.index()};
        const auto own = std::visit([](const auto& plan) { return plan.numbers(); }, op_list.plan);
        numbers.insert(numbers.end(), own.begin(), own.end());
        for (const Step& step : steps)
            for (const auto* transfers : {&step.sends, &step.receives}) {
                numbers.push_back(transfers->size());
                for (const Transfer& each : *transfers)
                    numbers.insert(numbers.end(),
                                   {static_cast<u64>(each.peer), each.offset, each.bytes});
            }
        return numbers;
    }

    PeerBuffers buffers_;
    PlatformFacts facts_;
    GpuClock clock_;
    Protocols protocols_;
    Mailbox mailbox_;
    Counts counts_;
};

const AddTransport add_gpu{"gpu", open_as<GpuTransport>};

}  // namespace
}  // namespace wirespeed
