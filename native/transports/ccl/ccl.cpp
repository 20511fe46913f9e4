// NCCL (and RCCL): ncclSend and ncclRecv on device buffers, a group for each step, in a stream of
// their own. iterations=host: the CPU waits for the stream after each iteration; iterations=stream:
// the GPU goes on by itself from iteration to iteration. enqueue=graph-only: by launches of a CUDA
// graph. buffers=registered or symmetric: in memory that NCCL knows.
#include <cstdlib>

#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/align.hpp"
#include "transports/ccl/communicator.hpp"
#include "transports/ccl/op_list.hpp"
#include "transports/ccl/registration.hpp"
#include "transports/local/described.hpp"
#include "transports/local/exchange.hpp"
#include "transports/transport.hpp"
#include "transports/work/stream_program.hpp"

namespace wirespeed {
namespace {

class Iteration final : public Action {
  public:
    explicit Iteration(ccl::OpList op_list) : op_list_(std::move(op_list)) {}
    void run() override {
        op_list_.enqueue();
        op_list_.join();
        op_list_.wait();
    }

  private:
    ccl::OpList op_list_;
};

/// The same, captured: one launch puts all of it into the stream.
class CapturedIteration final : public Action {
  public:
    CapturedIteration(Context& context, Stream& stream, ccl::OpList op_list)
        : op_list_(std::move(op_list)), page_(context.page),
          launch_(context.page.name("launch of a graph")) {
        exchange(context.control, [&] {
            op_list_.enqueue();  // connects the peers
            op_list_.join();
            op_list_.wait();
            graph_ = stream.capture([&] {
                op_list_.enqueue();
                op_list_.join();
            });
            return true;
        });
        context.page.leave();
    }
    void run() override {
        page_.enter(launch_, op_list_.last_peer());
        graph_->launch();
        op_list_.wait();
    }

  private:
    ccl::OpList op_list_;
    std::unique_ptr<Graph> graph_;
    Page& page_;
    CallId launch_;
};

/// The stream goes on by itself.
class InStream final : public StreamIteration {
  public:
    InStream(ccl::Communicator& communicator, Page& page, ccl::OpList op_list)
        : communicator_(communicator), op_list_(std::move(op_list)),
          barrier_(ccl::OpList::barrier(communicator, page)) {}
    Stream& stream() override { return communicator_.stream(); }
    void enqueue() override { op_list_.enqueue(); }
    void join() override { op_list_.join(); }
    void meet() override { barrier_.enqueue(); }
    void wait(Event& event) override {
        communicator_.wait([&] { return event.reached(); });
    }
    int last_peer() const override { return op_list_.last_peer(); }

  private:
    ccl::Communicator& communicator_;
    ccl::OpList op_list_, barrier_;
};

class CclTransport final : public Transport {
  public:
    explicit CclTransport(Context& context)
        : Transport(context), in_stream_(in_stream(context.option("iterations", "host"))),
          enqueue_(context.option("enqueue", "measured")) {
        if (enqueue_ != "measured" && enqueue_ != "direct" && enqueue_ != "graph" &&
            enqueue_ != graph_only)
            throw Error("enqueue is measured, direct, graph or graph-only, not '" + enqueue_ + "'");
        require(context.option("needs", ""));
        communicator_ = std::make_unique<ccl::Communicator>(context);
        if (const std::string kind = context.option("buffers", ""); !kind.empty())
            registration_ = std::make_unique<ccl::Registration>(*communicator_, context, kind);
        if (in_stream_) clock_ = stream_clock(communicator_->stream());
    }

    Buffers allocate(Memory kind, std::size_t bytes) override {
        return registration_ ? registration_->allocate(bytes) : Transport::allocate(kind, bytes);
    }
    void release(Buffers& buffers) override {
        if (registration_) return registration_->release(buffers);
        Transport::release(buffers);
    }
    /// What NCCL knows of a buffer ends with its communicator.
    void abandon(Buffers& buffers) noexcept override {
        if (!registration_) return Transport::abandon(buffers);
        if (buffers.send || buffers.receive) communicator_->spoil();
        buffers = {};
    }

    void close() override { communicator_->close(); }
    void close_keeping() override { communicator_->keep(); }

    std::unique_ptr<Program> compile(std::span<const Step> steps, const Buffers& buffers) override {
        ccl::OpList iteration(*communicator_, context_, steps, buffers);
        const bool nothing = iteration.has_empty_messages();
        std::unique_ptr<Program> program = program_of(std::move(iteration));
        if (!nothing) return program;
        return std::make_unique<Noted>(std::move(program),
                                       "\"empty_messages\": \"sent as 1 byte\"");
    }

    std::unique_ptr<Program> compile_with_work(std::span<const Step> steps,
                                               const Buffers& buffers) override {
        if (on_host(buffers.worked_on())) return Transport::compile_with_work(steps, buffers);
        return compile(steps, buffers);
    }

    std::unique_ptr<Program> compile_collective(const Collective& collective,
                                                const Buffers& buffers) override {
        return program_of({*communicator_, context_.page, collective, buffers});
    }

    bool by_address() const override { return !registration_; }
    std::string describe() const override {
        const std::string text = communicator_->describe(), kind = context_.option("buffers", "");
        return kind.empty() ? text : text + ", \"buffers\": " + json_text(kind);
    }

  private:
    static constexpr const char* graph_only = "graph-only";

    static bool in_stream(const std::string& iterations) {
        if (iterations != "host" && iterations != "stream")
            throw Error("iterations of NCCL are run by host or stream, not by '" + iterations +
                        "'");
        return iterations == "stream";
    }

    /// A setting that NCCL reads once, at its start: where this process lacks it, the path would
    /// have a wrong name.
    static void require(const std::string& setting) {
        const auto equals = setting.find('=');
        if (equals == std::string::npos) return;
        const char* const value = std::getenv(setting.substr(0, equals).c_str());
        if (!value || setting.substr(equals + 1) != value)
            throw Unavailable(setting +
                              " is not set in this rank: set it where the ranks are "
                              "started, and measure this path alone");
    }

    std::unique_ptr<Program> program_of(ccl::OpList iteration) {
        if (!in_stream_) return of_host_iterations(std::move(iteration));
        return std::make_unique<StreamProgram>(
            context_,
            std::make_unique<InStream>(*communicator_, context_.page, std::move(iteration)),
            "NCCL's stream", enqueue_, clock_);
    }

    std::unique_ptr<Program> of_host_iterations(ccl::OpList iteration) {
        std::vector<std::unique_ptr<Action>> actions;
        const bool captured = enqueue_ == graph_only;
        if (captured)
            actions.push_back(std::make_unique<CapturedIteration>(context_, communicator_->stream(),
                                                                  std::move(iteration)));
        else
            actions.push_back(std::make_unique<Iteration>(std::move(iteration)));
        auto program = std::make_unique<HostProgram>(
            context_.page, std::move(actions),
            align(context_,
                  std::make_unique<Iteration>(ccl::OpList::barrier(*communicator_, context_.page)),
                  "NCCL"));
        if (!captured) return program;
        return std::make_unique<Noted>(std::move(program), "\"enqueue\": \"graph\"");
    }

    bool in_stream_;
    std::string enqueue_;
    std::unique_ptr<ccl::Communicator> communicator_;
    std::unique_ptr<ccl::Registration> registration_;
    ClockQuality clock_{};
};

const AddTransport add_ccl{"ccl", open_as<CclTransport>};

}  // namespace
}  // namespace wirespeed
