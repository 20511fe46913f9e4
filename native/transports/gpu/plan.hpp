// What one rank's persistent kernel does in an iteration, with all addresses: what every program
// has, and the plan of its kind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/persistent_types.h"
#include "transports/lists.hpp"
#include "transports/transport.hpp"

namespace wirespeed {

/// How a program's messages move: the protocol and the size of the launch; the same on all ranks.
struct Tuning {
    static constexpr std::uint32_t most_blocks = 256;
    WsProtocol protocol = ws_ll;
    std::uint32_t blocks = 1, threads = 32;
    std::uint32_t place = 0;  ///< LL by one block: which of them does it

    std::string text() const;
    bool operator==(const Tuning&) const = default;
};

/// The tunings that a program can have.
struct Choices {
    bool ll = true, stores = true, pull = true, tma = true;
    std::uint32_t most_blocks = Tuning::most_blocks;  ///< of every protocol but LL
    /// Peers of a rank where blocks share LL messages (kernels/exchange.h); 0: LL has one block.
    std::uint32_t exchange_peers = 0;
    std::size_t least_pulled = 16384;  ///< bytes of a block: pulling fewer is not worth a trial
    bool all_tried = false;            ///< also what was slow for other programs' long messages

    bool allow(const Tuning& tuning) const;
    /// With as many of its blocks as there may be; none: this protocol is not possible.
    std::optional<Tuning> nearest(Tuning tuning) const;
};

struct KernelChoice {
    std::string kernel;
    unsigned threads;
};

struct OpList;

/// What plans of all kinds answer; of one program all ranks' plans are of one kind. Each also has
///     Choices choices(const OpList&) const;
///     KernelChoice launch(const Tuning&, const OpList&) const;
struct KernelPlan {
    /// Every rank calls it: what the plan says holds on all ranks then.
    void agree(Control&, OpList&) {}
    void tell(WsProgram&, const Tuning&) const {}
    /// Programs of other numbers are not tuned alike.
    std::vector<u64> numbers() const { return {}; }
    static constexpr const char* work = "";  ///< who does it, for the record
};

/// Messages and nothing else.
struct MessagePlan : KernelPlan {
    /// Each step is one message to the same peer and one from the same: no block overtakes another
    /// by a step, since the sender waits for all of them.
    bool in_turn;

    void agree(Control& control, OpList&);
    Choices choices(const OpList& op_list) const;
    KernelChoice launch(const Tuning& tuning, const OpList& op_list) const;
};

/// The kernel changes messages where they arrive.
struct InPlacePlan : MessagePlan {
    bool in_shares;    ///< blocks can do so without waiting for each other
    bool defers_work;  ///< it can be done when the message is sent on

    void agree(Control& control, OpList&);
    Choices choices(const OpList& op_list) const;
    void tell(WsProgram& program, const Tuning&) const { program.defers_work = defers_work; }
    static constexpr const char* work = "by the same kernel";
};

/// The kernel combines messages with what lies here, or copies them (folds.hpp).
struct FoldPlan : KernelPlan {
    std::vector<WsFoldStep> steps;
    std::vector<WsFold> folds;
    std::vector<WsSource> sources;
    bool can_pull;    ///< messages may stay at their senders until they are folded or copied
    bool in_shares;   ///< blocks can fold without waiting for each other
    bool in_words;    ///< all that is folded lies on whole words
    bool own_shares;  ///< by stores, blocks wait for the peers' blocks of their number (WsFolds)
    /// Peers of a rank where every rank's program is one of kernels/exchange.h; 0: it is not.
    std::uint32_t exchange_peers = 0;
    /// Of the two places where messages land by turns; 0: one.
    u64 double_buffer_stride = 0;

    void agree(Control& control, OpList& op_list);
    Choices choices(const OpList&) const;
    KernelChoice launch(const Tuning& tuning, const OpList&) const;
    void tell(WsProgram& program, const Tuning& tuning) const;
    std::vector<u64> numbers() const;
    static constexpr const char* work = InPlacePlan::work;
};

/// The kernel checks messages between two steps.
struct SoakPlan : KernelPlan {
    u64 soak = 0;  ///< address of its WsSoak

    Choices choices(const OpList&) const { return {.stores = false, .pull = false, .tma = false}; }
    KernelChoice launch(const Tuning& tuning, const OpList& op_list) const;
    void tell(WsProgram& program, const Tuning&) const { program.soak = soak; }
    static constexpr const char* work = "by the same kernel, between two steps";
};

/// Kernels beside it do the work, ordered by flags (gated_work.hpp).
struct GatedPlan : KernelPlan {
    std::vector<Work> works;  ///< of an iteration
    bool work_lags = false;   ///< by a step
    /// Of a soak: the protocol that it is to have, and that its work leaves time for.
    std::optional<WsProtocol> like = {};

    Choices choices(const OpList& op_list) const;
    KernelChoice launch(const Tuning& tuning, const OpList& op_list) const;
    void tell(WsProgram& program, const Tuning&) const { program.work_lags = work_lags; }
    std::vector<u64> numbers() const { return {works.size()}; }
    static constexpr const char* work = "beside it, ordered by flags";
};

struct OpList {
    struct Op {
        int peer;
        bool sends;
        WsOp op;
    };
    std::vector<WsStep> steps;
    std::vector<Op> ops;
    std::vector<int> peers;
    std::vector<std::uint32_t> sent, received;  ///< transfers in an iteration, by peer
    std::uint32_t slots = 0, slot_packets = 0;
    bool guarded = false;
    bool alike = false;  ///< on every rank: what the first step receives has lanes of its own
    /// Lists of blocks that this rank sends; none: no rank has any.
    std::optional<std::vector<PieceTable>> lists = {};
    std::variant<MessagePlan, InPlacePlan, FoldPlan, SoakPlan, GatedPlan> plan;

    /// Every rank calls it, and says whether a message that comes says that its place is free: what
    /// one rank's kernel must do, or cannot do, all must know.
    void agree(Control& control, bool says_it_is_free);
    Choices choices() const;
    KernelChoice launch(const Tuning& tuning) const {
        return std::visit([&](const auto& plan) { return plan.launch(tuning, *this); }, plan);
    }
    bool on_whole_words() const;
};

/// The steps of a soak, each with its turn.
SoakPlan soak_plan(std::span<const Step> steps, std::vector<WsStep>& turns);
GatedPlan gated_plan(std::span<const Step> steps);

}  // namespace wirespeed
