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
#include "transports/gpu/mailbox.hpp"
#include "transports/gpu/message_work.hpp"
#include "transports/gpu/persistent.hpp"
#include "transports/gpu/protocols.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_buffers.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/soak_turn.hpp"

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
        const Extent extent = agree(steps);
        Preparation preparation;
        OpList op_list;
        op_list.has_lists = extent.lists;
        op_list.folding = by == WorkBy::folds;
        op_list.packet_bytes = op_list.folding ? WS_FOLD_PACKET : facts_.packet_bytes;
        // Blocks of a kernel go on by themselves: one may be a message ahead of another.
        op_list.guarded = has_overwrite_hazard(context_.control, given, buffers, false);
        lay_out(op_list, extent);
        if (by == WorkBy::soak && (op_list.slots == 0 || op_list.has_lists)) by = WorkBy::gate;
        exchange(context_.control, [&] {
            write(op_list, steps, theirs, buffers, by, extent);
            if (op_list.has_lists) add_lists(op_list, given, their_blocks, preparation);
            return true;
        });
        agree_on_work(op_list);
        std::vector<Tuning> tunings =
            protocols_.candidates(extent.largest, packets_of(extent.largest, op_list), op_list);
        const std::vector<u64> same = numbers_of(steps, extent, op_list);
        std::unique_ptr<PersistentProgram> program;
        exchange(context_.control, [&] {
            program = std::make_unique<PersistentProgram>(
                context_, mailbox_, counts_, std::move(op_list), tunings.front(), clock_);
            return true;
        });
        protocols_.choose(*program, std::move(tunings), extent.largest, same);
        return preparation.noted(std::move(program));
    }

    /// What one rank's kernel must do, or cannot do, all must know.
    void agree_on_work(OpList& op_list) const {
        struct Mine {
            bool works, in_shares, defers_work, in_turn, needs_guard, by_turns, can_pull, alike;
            std::uint32_t peers;
        };
        const auto all = exchange(context_.control, [&] {
            return Mine{
                op_list.works,          op_list.in_shares,
                op_list.defers_work,    op_list.in_turn,
                op_list.needs_guard,    op_list.double_buffer_stride != 0,
                op_list.folds.can_pull, !op_list.steps.empty() && op_list.steps[0].receives_alike,
                exchange_peers(op_list)};
        });
        bool needs_guard = false;
        op_list.exchange_peers = all[0].peers;
        for (const auto& [works, in_shares, defers_work, in_turn, needs, by_turns, can_pull, alike,
                          peers] : all) {
            op_list.alike = op_list.alike && alike;
            op_list.folds.can_pull = op_list.folds.can_pull && can_pull;
            if (peers != op_list.exchange_peers) op_list.exchange_peers = 0;
            needs_guard = needs_guard || needs;
            if (!by_turns) op_list.double_buffer_stride = 0;
            op_list.in_turn = op_list.in_turn && in_turn;
            op_list.works = op_list.works || works;
            op_list.defers_work = op_list.defers_work && defers_work;
            op_list.in_shares = op_list.in_shares && in_shares;
        }
        op_list.guarded = op_list.guarded && needs_guard && op_list.double_buffer_stride == 0;
    }

    static Facts start(Context& context) {
        refuse_shared_devices(context, "gpu");
        const auto all = exchange(context.control, [&] { return platform_facts(context.device); });
        Facts facts = all[static_cast<std::size_t>(context.control.rank())];
        for (const Facts& each : all) {
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
            all.window = std::max(all.window, each.window);
            all.near = all.near && each.near;
        }
        return all;
    }

    /// Cuts the rings into slots for this program; none where its messages do not fit.
    void lay_out(OpList& op_list, const Extent& extent) const {
        const std::size_t slot = (packets_of(extent.largest, op_list) * packet + 127) / 128 * 128;
        op_list.slot_packets = static_cast<std::uint32_t>(slot / packet);
        op_list.slots = std::bit_floor(static_cast<std::uint32_t>(
            std::min<std::size_t>(mailbox_.ring_bytes() / slot, most_slots)));
        // A whole step's messages may still be there when those of the next one arrive.
        if (!extent.near || op_list.slots < 2 * extent.window) op_list.slots = 0;
    }

    static std::uint32_t packets_of(std::size_t bytes, const OpList& op_list) {
        const std::size_t count = (bytes + op_list.packet_bytes - 1) / op_list.packet_bytes;
        return static_cast<std::uint32_t>(std::clamp<std::size_t>(count, 1, UINT32_MAX));
    }

    void write(OpList& op_list, std::span<const Step> steps, std::span<const Step> theirs,
               const Buffers& buffers, WorkBy by, const Extent& extent) {
        op_list.sent.assign(counts_.size(), 0);
        op_list.received = op_list.sent;
        std::set<int> peers;
        for (std::size_t s = 0; s < steps.size(); ++s) {
            const Step& step = steps[s];
            const Step& before = steps[(s + steps.size() - 1) % steps.size()];
            for (std::size_t i = 0; i < step.sends.size(); ++i)
                op_list.ops.push_back(with_change(
                    make_op(true, step.sends[i], theirs[s].sends[i].offset, buffers, op_list.sent),
                    change_before(before, step.sends[i], buffers)));
            for (std::size_t i = 0; i < step.receives.size(); ++i)
                op_list.ops.push_back(
                    with_change(make_op(false, step.receives[i], theirs[s].receives[i].offset,
                                        buffers, op_list.received),
                                change_of(step, step.receives[i], buffers)));
            const bool here = by == WorkBy::kernel || by == WorkBy::folds;
            const bool works = here && step.has_work();
            op_list.works = op_list.works || works;
            op_list.steps.push_back({static_cast<std::uint32_t>(step.sends.size()),
                                     static_cast<std::uint32_t>(step.receives.size()), works,
                                     here && is_free_early(before, step, buffers), 0, 0, 0, 0, 0});
            if (by == WorkBy::soak) {
                const SoakTurn turn = *soak_turn(step.gated);
                op_list.soak = turn.state;
                op_list.steps.back().soak_first = turn.first;
                op_list.steps.back().soak_checks = turn.checks;
                op_list.steps.back().soak_fills = turn.fills;
            }
            if (by == WorkBy::gate)
                op_list.gated.insert(op_list.gated.end(), step.gated.begin(), step.gated.end());
            op_list.work_lags = op_list.work_lags || step.work_lags;
        }
        op_list.in_turn = std::ranges::all_of(steps, [&](const Step& step) {
            return step.sends.size() == 1 && step.receives.size() == 1 &&
                   step.sends[0].peer == steps[0].sends[0].peer &&
                   step.receives[0].peer == steps[0].receives[0].peer;
        });
        // A peer that sends to this rank has had all that it needs to know that the place is free.
        op_list.needs_guard = !op_list.in_turn || !is_two_way(steps, buffers);
        if (op_list.folding) {
            set_folds(op_list, folds_of(steps, buffers), extent);
        } else {
            op_list.defers_work = op_list.works && works_are_sent_on(steps, buffers);
            op_list.in_shares = std::ranges::all_of(op_list.ops, [](const OpList::Op& each) {
                return (each.op.mine | each.op.theirs | each.op.bytes) % 16 == 0;
            });
        }
        for (auto& [peer, sends, op] : op_list.ops) {
            op.packets = packets_of(op.bytes, op_list);
            op.each = (sends ? op_list.sent : op_list.received)[static_cast<std::size_t>(peer)];
            peers.insert(peer);
        }
        op_list.peers.assign(peers.begin(), peers.end());
        for (std::size_t s = 0, op = 0; s < steps.size(); ++s) {
            const std::span ops(op_list.ops);
            const auto sends = ops.subspan(op, steps[s].sends.size());
            const auto receives = ops.subspan(op + sends.size(), steps[s].receives.size());
            op += sends.size() + receives.size();
            if (sends_and_receives_cross(steps[s], buffers)) continue;
            const bool folding = op_list.folding;
            op_list.steps[s].sends_alike =
                are_alike(sends) &&
                !(folding && std::ranges::any_of(steps[s].sends, [&](const Transfer& each) {
                      return folds_write(steps[s], each, buffers);
                  }));
            op_list.steps[s].receives_alike =
                are_alike(receives) &&
                !(folding && std::ranges::any_of(steps[s].receives, [&](const Transfer& each) {
                      return folds_touch(steps[s], each, buffers);
                  }));
        }
    }

    /// The places of what this rank's lists send. The kernel takes one after the other.
    void add_lists(OpList& op_list, std::span<const Step> mine, std::span<const Step> theirs,
                   Preparation& preparation) {
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
                preparation.add([&] {
                    op_list.lists.push_back(
                        std::make_shared<PieceTable>(context_.device, pieces, 1));
                });
                sent.work = ws_list_work;
                sent.operand = op_list.lists.back()->list();
            }
            op += lists_of(mine[s].receives).size();
        }
    }

    /// Several messages of equal length.
    static bool are_alike(std::span<const OpList::Op> ops) {
        return ops.size() > 1 && std::ranges::all_of(ops, [&](const OpList::Op& each) {
                   return each.op.bytes == ops[0].op.bytes;
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

    void set_folds(OpList& op_list, FoldPlan plan, const Extent& extent) {
        // What is less than 16 bytes is the first block's if it has a lane for each byte.
        const u64 ends = facts_.most_threads < 16 ? ~u64{0} : 0;
        u64 all = 0;
        std::size_t op = 0, fold = 0;
        for (const auto& [peer, sends, each] : op_list.ops)
            all |= each.mine | each.theirs | (each.bytes & ends);
        for (const WsFold& each : plan.folds) all |= each.to | (each.bytes & ends);
        for (const WsSource& each : plan.sources) all |= each.place;
        op_list.in_shares = all % 16 == 0;
        op_list.in_words = all % sizeof(u32) == 0;
        for (std::size_t s = 0; s < plan.steps.size(); ++s) {
            const std::size_t next = fold + plan.steps[s].meanwhile + plan.steps[s].after;
            for (; fold < next; ++fold)
                for (u32 i = 0; i < plan.folds[fold].sources; ++i)
                    if (const u32 message = plan.sources[plan.folds[fold].first + i].message;
                        message != WS_IN_MEMORY)
                        op_list.ops[op + message].op.work = ws_fold_work;
            op += op_list.steps[s].sends + op_list.steps[s].receives;
        }
        op_list.folds = std::move(plan);
        const u64 double_buffer_stride = (extent.largest + 127) / 128 * 128;
        if (2 * double_buffer_stride > mailbox_.ring_bytes() || !lands_by_turns(op_list)) return;
        op_list.double_buffer_stride = double_buffer_stride;
        const int me = context_.control.rank();
        for (auto& [peer, sends, op] : op_list.ops)
            op.operand = sends ? mailbox_.landing(peer, me) : mailbox_.landing(me, peer);
    }

    /// One exchange of a message with each of some peers, which its folds alone read.
    static bool lands_by_turns(const OpList& op_list) {
        std::set<int> to, from;
        for (const auto& [peer, sends, op] : op_list.ops)
            if (!(sends ? to : from).insert(peer).second || (!sends && op.work != ws_fold_work))
                return false;
        return op_list.steps.size() == 1 && to == from;
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

    static OpList::Op with_change(OpList::Op op, const WsChange& change) {
        op.op.work = change.work;
        op.op.operand = change.operand;
        return op;
    }

    /// Two programs of the same numbers move the same bytes between the same ranks.
    static std::vector<u64> numbers_of(std::span<const Step> steps, const Extent& extent,
                                       const OpList& op_list) {
        std::vector<u64> numbers{extent.largest,         extent.window,    op_list.slots,
                                 op_list.guarded,        op_list.works,    op_list.gated.size(),
                                 op_list.exchange_peers, op_list.soak != 0};
        for (const WsFold& each : op_list.folds.folds)
            numbers.insert(numbers.end(), {each.bytes, each.sources, each.type, each.operation});
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
    Facts facts_;
    GpuClock clock_;
    Protocols protocols_;
    Mailbox mailbox_;
    Counts counts_;
};

const AddTransport add_gpu{"gpu", open_as<GpuTransport>};

}  // namespace
}  // namespace wirespeed
