// NCCL (and RCCL): ncclSend and ncclRecv on device buffers, a group for each step, in a stream of
// their own. rounds=host: the CPU waits for the stream after each round; rounds=stream: the GPU
// goes on by itself from round to round.
#include <cstdlib>

#include "core/error.hpp"
#include "transports/ccl/communicator.hpp"
#include "transports/ccl/script.hpp"
#include "transports/ccl/stream_program.hpp"
#include "transports/transport.hpp"

namespace wirespeed {
namespace {

class Round final : public Action {
  public:
    explicit Round(ccl::Script script) : script_(std::move(script)) {}
    void run() override {
        script_.enqueue();
        script_.wait();
    }

  private:
    ccl::Script script_;
};

/// Says more of a program than it says itself.
class Noted final : public WrappedProgram {
  public:
    Noted(std::unique_ptr<Program> program, std::string note)
        : WrappedProgram(std::move(program)), note_(std::move(note)) {}
    std::string describe() const override {
        const std::string own = program_->describe();
        return own.empty() ? note_ : own + ", " + note_;
    }

  private:
    std::string note_;
};

class CclTransport final : public Transport {
  public:
    explicit CclTransport(Context& context)
        : Transport(context), in_stream_(in_stream(context.option("rounds", "host"))),
          way_(context.option("way", "measured")) {
        if (way_ != "measured" && way_ != "enqueued" && way_ != "graph")
            throw Error("way is measured, enqueued or graph, not '" + way_ + "'");
        require(context.option("needs", ""));
        communicator_ = std::make_unique<ccl::Communicator>(context);
        if (in_stream_) clock_ = ccl::stream_clock(communicator_->stream());
    }

    void close() override { communicator_->close(); }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        ccl::Script round(*communicator_, context_.page, steps, buffers);
        const bool nothing = round.carries_nothing();
        std::unique_ptr<Program> program;
        if (in_stream_)
            program = std::make_unique<ccl::StreamProgram>(context_, *communicator_,
                                                           std::move(round), way_, clock_);
        else
            program = of_host_rounds(std::move(round));
        if (!nothing) return program;
        return std::make_unique<Noted>(std::move(program),
                                       "\"empty_messages\": \"carried as 1 byte\"");
    }

    std::string describe() const override { return communicator_->describe(); }

  private:
    static bool in_stream(const std::string& rounds) {
        if (rounds != "host" && rounds != "stream")
            throw Error("rounds of NCCL are run by host or stream, not by '" + rounds + "'");
        return rounds == "stream";
    }

    /// A setting that NCCL reads once, at its start: where this process lacks it, the path would
    /// bear a wrong name.
    static void require(const std::string& setting) {
        const auto equals = setting.find('=');
        if (equals == std::string::npos) return;
        const char* const value = std::getenv(setting.substr(0, equals).c_str());
        if (!value || setting.substr(equals + 1) != value)
            throw Unavailable(setting +
                              " is not set in this rank: set it where the ranks are "
                              "started, and measure this path alone");
    }

    std::unique_ptr<Program> of_host_rounds(ccl::Script round) {
        std::vector<std::unique_ptr<Action>> actions;
        actions.push_back(std::make_unique<Round>(std::move(round)));
        return std::make_unique<HostProgram>(
            context_.page, std::move(actions),
            std::make_unique<Round>(ccl::Script::meeting(*communicator_, context_.page)));
    }

    bool in_stream_;
    std::string way_;
    std::unique_ptr<ccl::Communicator> communicator_;
    ClockQuality clock_{};
};

const AddTransport add{"ccl", [](Context& context) -> std::unique_ptr<Transport> {
                           return std::make_unique<CclTransport>(context);
                       }};

}  // namespace
}  // namespace wirespeed
