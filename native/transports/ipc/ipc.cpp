// The peer's buffer, opened within one host: the sender writes into it, or the receiver reads from
// it, by a copy engine or by a kernel. A word in shared memory signals completion: no message is
// part of the figure.
#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "transports/align.hpp"
#include "transports/ipc/steps.hpp"
#include "transports/ipc/waiting_kernel.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/overwrite_hazard.hpp"
#include "transports/local/peer_buffers.hpp"
#include "transports/local/peer_offsets.hpp"
#include "transports/local/trial_timing.hpp"

namespace wirespeed::ipc {
namespace {

class IpcTransport final : public HostTransport {
  public:
    explicit IpcTransport(Context& context)
        : HostTransport(context), writes_(context.option("by", "write") == "write"),
          lists_(list_by(context.option("lists", "loop"))),
          buffers_(context, writes_ ? "ipc-write" : "ipc-read"), link_(context) {
        if (writes_ || context.option("by", "") == "read") {
            link_.signals_from_stream = writes_ && all_streams_signal();
            // For tests, "share=yes", as of refuse_shared_devices: slow, but right.
            shares_devices_ = writes_ && context.option("share", "no") != "yes" &&
                              shared_device(context).has_value();
            return;
        }
        throw Error("ipc: by is write or read, not " + context.option("by", ""));
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        return buffers_.allocate(kind, bytes);
    }
    void release(Buffers& buffers) override { buffers_.release(buffers); }
    void abandon(Buffers& buffers) noexcept override { buffers_.abandon(buffers); }

    std::unique_ptr<Program> compile(std::span<const Step> given, const Buffers& buffers) override {
        const std::vector<Step> steps = as_messages(given);
        const std::vector<Step> theirs = as_messages(peer_offsets(context_.control, given));
        const std::vector<Writer> writers = has_lists(steps) ? for_lists() : candidates(steps);
        const bool guarded = writes_ && has_overwrite_hazard(context_.control, steps, buffers);
        std::unique_ptr<Program> best;
        double least = 0;
        for (const Writer writer : writers) {
            auto program = make_program(writer, steps, theirs, buffers, guarded);
            if (writers.size() == 1) return program;
            const double seconds = trial_seconds(context_.control, *program);
            // Ways that are as good as each other are not to change from size to size.
            if (best && seconds >= 0.98 * least) continue;
            best = std::move(program);
            least = seconds;
        }
        return best;
    }

    std::unique_ptr<Program> compile_with_work(std::span<const Step> steps,
                                               const Buffers& buffers) override {
        like_ = buffers.like ? buffers.like->describe() : "";
        auto program = compile(steps, buffers);
        like_.clear();
        return program;
    }

    std::unique_ptr<StartLine> align() override { return wirespeed::align(context_); }

  private:
    /// The writers worth trying; for large messages nothing comes near a copy engine.
    std::vector<Writer> candidates(std::span<const Step> steps) {
        constexpr std::size_t small = 512 << 10;
        const Writer engine =
            link_.signals_from_stream ? Writer::engine_then_stream : Writer::engine_then_host;
        const std::string copy = context_.option("copy", "auto");
        if (!writes_ || copy == "engine") return {engine};
        if (copy == "kernel") return {Writer::kernel};
        struct Mine {
            std::size_t largest = 0;
            bool kernel_can_wait = true;
        };
        Mine all;
        for (const Mine& each : exchange(context_.control, [&] {
                 Mine mine;
                 for (const Step& step : steps)
                     for (const Transfer& transfer : step.sends)
                         mine.largest = std::max(mine.largest, transfer.bytes);
                 mine.kernel_can_wait = mine.largest <= small && kernel_can_wait(steps);
                 return mine;
             })) {
            all.largest = std::max(all.largest, each.largest);
            all.kernel_can_wait = all.kernel_can_wait && each.kernel_can_wait;
        }
        if (all.largest > small) return {engine};
        if (all.kernel_can_wait && copy == "waiting-kernel") return {Writer::waiting_kernel};
        std::vector<Writer> found{engine};
        if (engine != Writer::engine_then_host) found.push_back(Writer::engine_then_host);
        found.push_back(Writer::kernel);
        if (all.kernel_can_wait) found.push_back(Writer::waiting_kernel);
        const auto same = std::ranges::find_if(found, [&](Writer each) {
            return like_.find('"' + std::string(name_of(each)) + '"') != std::string::npos;
        });
        return same == found.end() ? found : std::vector{*same};
    }

    /// Where the path's option says what copies messages, and none what copies lists, each block of
    /// a list is a message.
    std::vector<Step> as_messages(std::span<const Step> given) const {
        std::vector<Step> steps(given.begin(), given.end());
        const std::string copy = context_.option("copy", "auto");
        if (lists_ != ListBy::loop || copy == "auto" || copy == "engine") return steps;
        for (Step& step : steps)
            for (auto* const transfers : {&step.sends, &step.receives})
                for (Transfer& each : *transfers) each.list = 0;
        return steps;
    }

    bool has_lists(std::span<const Step> steps) {
        const auto lists = [](const std::vector<Transfer>& transfers) {
            return std::ranges::any_of(transfers, [](const Transfer& each) { return each.list; });
        };
        const auto all = exchange(context_.control, [&] {
            return std::ranges::any_of(
                steps, [&](const Step& each) { return lists(each.sends) || lists(each.receives); });
        });
        return std::find(all.begin(), all.end(), true) != all.end();
    }

    std::vector<Writer> for_lists() const {
        if (lists_ == ListBy::kernel) return {Writer::kernel};
        return {link_.signals_from_stream ? Writer::engine_then_stream : Writer::engine_then_host};
    }

    /// Blocks that a kernel may take for a list; nobody asks where none does.
    unsigned list_blocks() const {
        return lists_ == ListBy::kernel ? multiprocessors(context_, link_.most_blocks) : 1;
    }

    /// A message, or a list as one. `theirs`: the places at the peer; `most_blocks`: of a list's
    /// kernel.
    PeerCopy message(std::span<const Transfer> mine, const Transfer* theirs, std::byte* to,
                     std::byte* from, bool sends, unsigned most_blocks) {
        const Transfer& first = mine.front();
        Stream& stream = link_.stream(first.peer);
        if (!first.list) {
            const std::size_t here = first.offset, there = theirs->offset;
            return {first.peer, to + (sends ? there : here), from + (sends ? here : there),
                    first.bytes, &stream};
        }
        std::vector<Piece> pieces;
        for (const Transfer& block : mine) {
            const std::size_t there = theirs++->offset;
            pieces.push_back(
                {sends ? there : block.offset, sends ? block.offset : there, block.bytes});
        }
        auto list =
            std::make_shared<BlockList>(context_.device, lists_, to, from, pieces, most_blocks);
        preparation_.add(list->prepared());
        return {first.peer, to, from, 0, &stream, std::move(list)};
    }

    bool kernel_can_wait(std::span<const Step> steps) {
        if (shares_devices_ || !WaitingKernel::can_carry(context_.device, steps)) return false;
        if (!kernel_can_wait_) kernel_can_wait_ = WaitingKernel::can_wait(context_);
        return *kernel_can_wait_;
    }

    std::unique_ptr<Program> make_program(Writer writer, std::span<const Step> steps,
                                          std::span<const Step> theirs, const Buffers& buffers,
                                          bool guarded) {
        std::string by =
            writes_ ? name_of(writer) : "copy engine, completion signalled by the host";
        if (!carries_bytes(steps)) by = "nothing to copy";
        used_blocks_ = 0;
        preparation_ = {};
        std::unique_ptr<Program> program;
        exchange(context_.control, [&] {
            std::shared_ptr<WaitingKernel> kernel;
            std::shared_ptr<Worker> worker;
            if (writer == Writer::waiting_kernel) {
                kernel = std::make_shared<WaitingKernel>(context_, link_.sent);
                for (const Step& step : steps)
                    if (const auto turn = soak_turn(step.meanwhile)) kernel->add_turn(*turn);
                worker = std::make_shared<WaitingWorker>(kernel);
            }
            program = program_of(
                steps, buffers,
                [&](std::size_t i) {
                    return make(writer, kernel, steps[i], theirs[i], buffers, guarded);
                },
                "\"copied by\": \"" + by + "\"", worker);
            if (used_blocks_)
                program = std::make_unique<Noted>(
                    std::move(program), "\"multiprocessors\": " + std::to_string(used_blocks_));
            program = preparation_.noted(std::move(program));
            if (!kernel) return true;
            kernel->load();
            program = with_waiting_kernel(std::move(program), kernel);
            return true;
        });
        return program;
    }

    static bool carries_bytes(std::span<const Step> steps) {
        const auto has_bytes = [](const Transfer& transfer) { return transfer.bytes > 0; };
        return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
            return std::any_of(step.sends.begin(), step.sends.end(), has_bytes) ||
                   std::any_of(step.receives.begin(), step.receives.end(), has_bytes);
        });
    }

    /// Old drivers cannot: then the host waits for the copy and signals.
    bool all_streams_signal() {
        if (context_.option("signal", "stream") != "stream") return false;
        const int me = context_.control.rank();
        const auto all = exchange(context_.control, [&] {
            try {
                const auto stream = context_.device.stream();
                stream->write_value(link_.flags.on_device(me, me, Flags::arrived), 0);
                stream->wait();
                return true;
            } catch (const Unavailable&) {
                return false;
            }
        });
        return std::find(all.begin(), all.end(), false) == all.end();
    }

    std::unique_ptr<Action> make(Writer writer, const std::shared_ptr<WaitingKernel>& kernel,
                                 const Step& step, const Step& theirs, const Buffers& buffers,
                                 bool guarded) {
        std::vector<PeerCopy> messages;
        std::vector<int> others;
        const auto add_all = [&](const std::vector<Transfer>& mine,
                                 const std::vector<Transfer>& there, bool sends) {
            const Transfer* their = there.data();
            const auto lists = lists_of(mine);
            // Their kernels run at once.
            const auto share = static_cast<unsigned>(
                std::max<std::size_t>(list_blocks() / std::max<std::size_t>(lists.size(), 1), 1));
            unsigned used = 0;
            for (const auto list : lists) {
                const int peer = list.front().peer;
                std::byte* const to = sends ? buffers_.receive_of(buffers, peer) : buffers.receive;
                std::byte* const from = sends ? buffers.send : buffers_.send_of(buffers, peer);
                messages.push_back(message(list, their, to, from, sends, share));
                if (messages.back().list) used += messages.back().list->kernel_blocks();
                their += list.size();
            }
            used_blocks_ = std::max(used_blocks_, used);
        };
        const std::vector<Transfer>& passive = writes_ ? step.receives : step.sends;
        for (const auto list : lists_of(passive)) others.push_back(list.front().peer);
        if (writes_) {
            add_all(step.sends, theirs.sends, true);
            return std::make_unique<WriteStep>(link_, writer, kernel, std::move(messages),
                                               std::move(others), guarded);
        }
        add_all(step.receives, theirs.receives, false);
        return std::make_unique<ReadStep>(link_, std::move(others), std::move(messages));
    }

    bool writes_;
    ListBy lists_;
    unsigned used_blocks_ = 0;  ///< most of a step's kernels, in the program that is made
    Preparation preparation_;   ///< of that program
    PeerBuffers buffers_;
    Link link_;
    bool shares_devices_ = false;
    std::string like_;  ///< what the program says of itself whose writer the next one is to have
    std::optional<bool> kernel_can_wait_;
};

const AddTransport add_ipc{"ipc", open_as<IpcTransport>};

}  // namespace
}  // namespace wirespeed::ipc
