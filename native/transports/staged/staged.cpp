// Staging: device buffers are copied to host memory, moved by another transport, and copied back to
// the device, whole messages at a time: what programs do whose MPI is not GPU-aware.
#include "transports/transport.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace wirespeed {
namespace {

struct StagedCopy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
};

/// What the messages go through, as large as a pair of buffers. Programs keep it: a later one with
/// larger buffers has another.
struct StagingBuffers {
    StagingBuffers(Device& device, Memory kind, std::size_t bytes)
        : send(device, kind, std::max<std::size_t>(bytes, 1)),
          receive(device, kind, std::max<std::size_t>(bytes, 1)) {}
    Allocation send, receive;
};

class StagedStep final : public Action {
  public:
    StagedStep(Device& device, Page& page, std::shared_ptr<const StagingBuffers> memory,
               std::vector<StagedCopy> out, std::unique_ptr<Action> move,
               std::vector<StagedCopy> in)
        : device_(device), page_(page), memory_(std::move(memory)), out_(std::move(out)),
          in_(std::move(in)), move_(std::move(move)), to_host_(page.name("copy device to host")),
          to_device_(page.name("copy host to device")) {}
    void run() override {
        if (!out_.empty()) page_.enter(to_host_);
        for (const auto& copy : out_) device_.copy(copy.to, copy.from, copy.bytes);
        move_->run();
        if (!in_.empty()) page_.enter(to_device_);
        for (const auto& copy : in_) device_.copy(copy.to, copy.from, copy.bytes);
    }

  private:
    Device& device_;
    Page& page_;
    std::shared_ptr<const StagingBuffers> memory_;
    std::vector<StagedCopy> out_, in_;
    std::unique_ptr<Action> move_;
    CallId to_host_, to_device_;
};

class StagedTransport final : public StepTransport {
  public:
    explicit StagedTransport(Context& context)
        : StepTransport(context), through_(memory_from(context.option("through", "pageable"))),
          inner_(open_transport(context.option("carrier", "mpi"), context)) {
        if (through_ != Memory::pageable && through_ != Memory::pinned)
            throw Error("staging goes through pageable or pinned memory only");
        carrier_ = inner_->by_steps();
        if (!carrier_) throw Error("staging needs a carrier whose steps the CPU does one by one");
    }

    void close() override { inner_->close(); }

    std::unique_ptr<Action> compile_step(const Step& step, const Buffers& buffers) override {
        if (!memory_ || memory_->send.bytes() < buffers.bytes)
            memory_ = std::make_shared<StagingBuffers>(context_.device, through_, buffers.bytes);
        Buffers host;
        host.send = memory_->send.address();
        host.receive = memory_->receive.address();
        host.kind = through_;
        host.bytes = memory_->send.bytes();
        std::vector<StagedCopy> out, in;
        for (const auto& t : step.sends)
            if (t.bytes) out.push_back({host.send + t.offset, buffers.send + t.offset, t.bytes});
        for (const auto& t : step.receives)
            if (t.bytes)
                in.push_back({buffers.receive + t.offset, host.receive + t.offset, t.bytes});
        return std::make_unique<StagedStep>(context_.device, context_.page, memory_, std::move(out),
                                            carrier_->compile_step(step, host), std::move(in));
    }

    std::string details_of(std::span<const Step> steps) const override {
        return carrier_->details_of(steps);
    }
    std::unique_ptr<StartLine> align() override { return carrier_->align(); }
    std::string describe() const override { return inner_->describe(); }

  private:
    Memory through_;
    std::unique_ptr<Transport> inner_;
    StepTransport* carrier_;
    std::shared_ptr<StagingBuffers> memory_;
};

const AddTransport add_staged{"staged", open_as<StagedTransport>};

}  // namespace
}  // namespace wirespeed
