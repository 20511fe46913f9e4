// Copies inside a rank: between its device and the host's memory, and on the device. What a rank
// "sends" to itself is copied from its send buffer to its receive buffer, which may lie elsewhere.
#include <cstring>

#include "core/error.hpp"
#include "transports/copy/numa.hpp"
#include "transports/local/described.hpp"

namespace wirespeed {
namespace {

struct Piece {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
};

/// The driver's own copy call, which is how programs copy pageable memory, or copies in a stream
/// and one wait for them.
class Copies final : public Action {
  public:
    Copies(Context& context, std::vector<Piece> pieces, bool pageable)
        : device_(context.device), page_(context.page),
          stream_(pageable ? nullptr : device_.stream()), pieces_(std::move(pieces)),
          copying_(context.page.name("copy")) {}

    void run() override {
        page_.enter(copying_);
        for (const Piece& piece : pieces_)
            if (stream_)
                stream_->copy(piece.to, piece.from, piece.bytes);
            else
                device_.copy(piece.to, piece.from, piece.bytes);
        if (stream_) stream_->wait();
    }

  private:
    Device& device_;
    Page& page_;
    std::unique_ptr<Stream> stream_;
    std::vector<Piece> pieces_;
    CallId copying_;
};

class CopyTransport final : public Transport {
  public:
    explicit CopyTransport(Context& context)
        : Transport(context), node_(context.option("node", "")) {}

    Buffers allocate(Memory kind, std::size_t bytes) override {
        const FromNode node(node_);
        const Buffers buffers = Transport::allocate(kind, bytes);
        // Pages come into being, and to a node, when they are first written.
        if (on_host(buffers.kind)) std::memset(buffers.send, 0, bytes);
        if (on_host(buffers.into)) std::memset(buffers.receive, 0, bytes);
        return buffers;
    }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        const int me = context_.control.rank();
        std::vector<Piece> pieces;
        for (const Step& step : steps) {
            if (step.sends.size() != step.receives.size())
                throw Error("copies: a rank receives as many messages from itself as it sends");
            for (std::size_t i = 0; i < step.sends.size(); ++i) {
                const Transfer &out = step.sends[i], &into = step.receives[i];
                if (out.peer != me || into.peer != me)
                    throw Error("copies stay inside a rank; this pattern sends to others");
                pieces.push_back(
                    {buffers.receive + into.offset, buffers.send + out.offset, out.bytes});
            }
        }
        const bool pageable = buffers.kind == Memory::pageable || buffers.into == Memory::pageable;
        return std::make_unique<DescribedProgram>(
            context_, std::make_unique<Copies>(context_, std::move(pieces), pageable),
            node_.empty() ? "" : "\"numa_node\": " + node_);
    }

  private:
    std::string node_;
};

const AddTransport add{"copy", open_as<CopyTransport>};

}  // namespace
}  // namespace wirespeed
