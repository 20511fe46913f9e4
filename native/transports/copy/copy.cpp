// Copies inside a rank: between its device and the host's memory, and on the device. What a rank
// "sends" to itself is copied from its send buffer to its receive buffer, which may lie elsewhere.
#include <array>

#include "core/error.hpp"
#include "core/helpers.hpp"
#include "transports/copy/numa.hpp"
#include "transports/lists.hpp"
#include "transports/local/copy_grid.hpp"
#include "transports/local/described.hpp"

namespace wirespeed {
namespace {

/// Of a message, or of a list of blocks.
struct LocalCopy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
    bool back;  ///< in the other direction, at the same time
    std::shared_ptr<BlockList> list = nullptr;
};

enum class Copier { call, engine, kernel };

/// The driver's own copy call, which is how programs copy pageable memory, or copies in a stream,
/// one for each direction, by a copy engine or by a kernel, and a wait for them.
class CopyStep final : public Action {
  public:
    CopyStep(Context& context, std::vector<LocalCopy> copies, Copier copier)
        : device_(context.device), page_(context.page), copier_(copier), copies_(std::move(copies)),
          copying_(context.page.name("copy")) {
        for (const LocalCopy& copy : copies_)
            if (auto& stream = streams_[copy.back]; copier != Copier::call && !stream)
                stream = device_.stream();
        most_blocks_ = device_.resident_blocks();
        // Both directions run at once, whatever was started first.
        if (streams_[0] && streams_[1]) most_blocks_ /= 2;
        most_blocks_ = std::max(most_blocks_, 1u);
    }

    void run() override {
        page_.enter(copying_);
        for (const LocalCopy& copy : copies_) start(copy);
        for (auto& stream : streams_)
            if (stream) stream->wait();
    }

  private:
    void start(const LocalCopy& copy) {
        if (copier_ == Copier::call) return device_.copy(copy.to, copy.from, copy.bytes);
        Stream& stream = *streams_[copy.back];
        if (copy.list) return copy.list->start(stream);
        if (copier_ == Copier::engine) return stream.copy(copy.to, copy.from, copy.bytes);
        std::uint64_t values[] = {reinterpret_cast<std::uint64_t>(copy.to),
                                  reinterpret_cast<std::uint64_t>(copy.from), copy.bytes};
        void* arguments[] = {&values[0], &values[1], &values[2]};
        const CopyGrid grid = copy_grid(copy.bytes, most_blocks_);
        stream.launch("ws_copy_bytes", grid.blocks, grid.threads, arguments);
    }

    Device& device_;
    Page& page_;
    Copier copier_;
    std::array<std::unique_ptr<Stream>, 2> streams_;  ///< by LocalCopy::back
    std::vector<LocalCopy> copies_;
    unsigned most_blocks_ = 1;
    CallId copying_;
};

class CopyTransport final : public Transport {
  public:
    explicit CopyTransport(Context& context)
        : Transport(context), node_(context.option("node", "")),
          by_(context.option("by", "engine")), lists_(list_by(context.option("lists", "loop"))) {
        if (by_ != "engine" && by_ != "kernel")
            throw Error("by is engine or kernel for copies, not '" + by_ + "'");
    }

    /// A program on one rank, whose steps are one launch each.
    bool takes_gated_work() const override { return true; }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        const FromNode node(node_);
        const Buffers buffers = Transport::allocate(kind, bytes);
        // Pages come into being, and to a node, when they are first written.
        if (on_host(buffers.kind)) write_bytes(buffers.send, 0, bytes);
        if (on_host(buffers.into)) write_bytes(buffers.receive, 0, bytes);
        return buffers;
    }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const int me = context_.control.rank();
        const bool pageable = buffers.kind == Memory::pageable || buffers.into == Memory::pageable;
        const Copier copier = by_ == "kernel" ? Copier::kernel
                              : pageable      ? Copier::call
                                              : Copier::engine;
        const unsigned most = std::max(context_.device.resident_blocks(), 1u);
        unsigned used = 0;
        Preparation preparation;
        std::vector<LocalCopy> copies;
        for (const Step& step : steps) {
            if (step.sends.size() != step.receives.size())
                throw Error("copies: a rank receives as many messages from itself as it sends");
            const Transfer* into = step.receives.data();
            for (const auto list : lists_of(step.sends)) {
                const Transfer& first = list.front();
                std::byte* const from = first.back ? buffers.receive : buffers.send;
                std::byte* const to = first.back ? buffers.send : buffers.receive;
                std::vector<Piece> pieces;
                for (const Transfer& out : list) {
                    if (out.peer != me || into->peer != me)
                        throw Error("copies stay inside a rank; this pattern sends to others");
                    pieces.push_back({into++->offset, out.offset, out.bytes});
                    if (!first.list || copier == Copier::call)
                        copies.push_back(
                            {to + pieces.back().at, from + out.offset, out.bytes, first.back});
                }
                if (!first.list || copier == Copier::call) continue;
                const bool by_kernel = copier == Copier::kernel;
                auto blocks = std::make_shared<BlockList>(
                    context_.device, by_kernel ? ListBy::kernel : lists_, to, from, pieces,
                    by_kernel ? multiprocessors(context_, most) : 1);
                used = std::max(used, blocks->kernel_blocks());
                preparation.add(blocks->prepared());
                copies.push_back({to, from, 0, first.back, std::move(blocks)});
            }
        }
        std::string said = node_.empty() ? "" : "\"numa_node\": " + node_;
        if (used)
            said += (said.empty() ? "" : ", ") + ("\"multiprocessors\": " + std::to_string(used));
        return preparation.noted(std::make_unique<DescribedProgram>(
            context_, std::make_unique<CopyStep>(context_, std::move(copies), copier), said));
    }

  private:
    std::string node_, by_;
    ListBy lists_;
};

const AddTransport add_copy{"copy", open_as<CopyTransport>};

}  // namespace
}  // namespace wirespeed
