// The C interface: pages, transports, buffers and programs. Devices are in api_devices.cpp.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "api.hpp"
#include "core/json.hpp"
#include "libraries/ranges.hpp"
#include "measure/clock.hpp"
#include "measure/timed_loop.hpp"
#include "measure/watchdog.hpp"
#include "soak/soak.hpp"
#include "transports/kept.hpp"
#include "transports/mpi/world.hpp"
#include "transports/work/work_program.hpp"

using namespace wirespeed;
using namespace wirespeed::api;

namespace {

/// A program has a step in memory for each number, used or not.
constexpr int32_t most_steps = 1 << 24;

void require_inside(const Buffers& buffers, uint64_t offset, uint64_t bytes) {
    if (bytes > buffers.bytes || offset > buffers.bytes - bytes)
        throw Error(std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                    " do not fit the buffers of " + std::to_string(buffers.bytes));
}

Work work_from(const ws_work& given, const Buffers& buffers) {
    Work work =
        make_work(given.kernel, given.blocks, given.threads, {given.arguments, given.count});
    for (uint32_t i = 0; i < given.count; ++i) {
        if (!(given.places >> i & 1)) continue;
        require_inside(buffers, work.arguments[i], 0);
        work.arguments[i] += reinterpret_cast<uint64_t>(buffers.receive);
    }
    return work;
}

void add_work(std::vector<Step>& steps, const ws_work& given, const Buffers& buffers) {
    if (given.step < 0 || given.step >= most_steps)
        throw Error("work of step " + std::to_string(given.step) + ": steps count from 0 to " +
                    std::to_string(most_steps - 1));
    if (given.when < 0 || given.when > 2)
        throw Error("work comes after (0), meanwhile (1) or gated (2), not " +
                    std::to_string(given.when));
    steps.resize(std::max(steps.size(), static_cast<std::size_t>(given.step) + 1));
    Step& step = steps[static_cast<std::size_t>(given.step)];
    (given.when == 0   ? step.after
     : given.when == 1 ? step.meanwhile
                       : step.gated)
        .push_back(work_from(given, buffers));
}

/// The transfers by step. Throws Error for what does not fit.
std::vector<Step> steps_of(const ws_transport& transport, const ws_buffers& buffers,
                           std::span<const ws_transfer> transfers) {
    std::vector<Step> steps;
    const int ranks = transport.control.size();
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        const ws_transfer& each = transfers[i];
        if (each.step < 0 || each.step >= most_steps || (i && each.step < transfers[i - 1].step))
            throw Error("transfer " + std::to_string(i) + " has step " + std::to_string(each.step) +
                        ": steps count from 0 to " + std::to_string(most_steps - 1) +
                        " and never go back");
        if (each.peer < 0 || each.peer >= ranks)
            throw Error("transfer " + std::to_string(i) + " has peer " + std::to_string(each.peer) +
                        ": there are " + std::to_string(ranks) + " ranks");
        if (each.back && each.peer != transport.control.rank())
            throw Error("transfer " + std::to_string(i) + " goes back, and not inside a rank");
        require_inside(buffers.buffers, each.offset, each.bytes);
        steps.resize(std::max(steps.size(), static_cast<std::size_t>(each.step) + 1));
        auto& step = steps[static_cast<std::size_t>(each.step)];
        (each.receives ? step.receives : step.sends)
            .push_back({each.peer, each.offset, each.bytes, each.remote_offset, each.back != 0,
                        each.list});
    }
    return steps;
}

/// Has this rank something to do? Where no message accompanies an operation, one side has not.
bool has_part(std::span<const Step> steps, const Context& context) {
    const std::string operation = context.option("operation", "");
    const bool fetches = operation == "get" || operation == "load";
    return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
        const bool moves = operation.empty() ? step.has_transfers()
                           : fetches         ? !step.receives.empty()
                                             : !step.sends.empty();
        return moves || step.has_work() || !step.gated.empty();
    });
}

/// Runs a part of a batch; meanwhile and afterwards the page says whether the rank only waits.
template <class Run> auto run_part(ws_program& program, Run run) {
    Page& page = program.owner->context.page;
    page.begin_part(program.has_part);
    const double began = now();
    const auto found = run(*program.program);
    if (program.has_part) page.end_part(now() - began);
    return found;
}

std::map<std::string, std::string> options_from(const char* text) {
    std::map<std::string, std::string> options;
    std::istringstream words(text ? text : "");
    for (std::string word; std::getline(words, word, ';');) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) throw Error("transport option '" + word + "' lacks '='");
        options[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return options;
}

}  // namespace

const char* ws_error(void) { return last_error.c_str(); }
int ws_error_is_lack(void) { return last_is_lack; }
double ws_clock_cost(void) { return clock_cost(); }
double ws_clock_resolution(void) { return clock_resolution(); }
void ws_library_path(const char* name, const char* path) { Library::set_path(name, path); }

const char* ws_ranges_open(const char* thread) {
    return kept_text([&] {
        std::string listed;
        for (const auto& one : open_ranges())
            listed += (listed.empty() ? "" : ", ") + json_text(one);
        name_thread(thread);
        return "[" + listed + "]";
    });
}
void ws_range_push(const char* name) { push_range(name); }
void ws_range_pop(void) { pop_range(); }

ws_page* ws_page_open(const char* file, int rank) {
    return guarded<ws_page*>(nullptr, [&] { return new ws_page(file, rank); });
}
void ws_page_stage(ws_page* page, const char* path, uint64_t bytes, double timeout) {
    page->stage(path, bytes, timeout);
}
int ws_page_catch_crashes(ws_page* page, int report_fd, int give_up) {
    return succeeded([&] { catch_crashes(*page, {report_fd, give_up != 0}); });
}
int ws_watchdog_start(ws_page* page, int report_fd, const char* python_stack, const char* give_up) {
    return succeeded([&] {
        start_watchdog(*page, {report_fd, give_up != nullptr}, python_stack,
                       give_up ? give_up : "");
    });
}
int ws_stack_signal(void) { return stack_signal(); }

int ws_mpi_open(const char* path, uint64_t communicator) {
    return succeeded([&] { mpi::open_world(path, communicator); });
}

ws_transport* ws_transport_open(const char* name, const char* options, const ws_control* control,
                                ws_device* device, ws_page* page) {
    return guarded<ws_transport*>(nullptr, [&] {
        device->device->enter();
        return new ws_transport(*control, *device->device, *page, options_from(options), name);
    });
}
int ws_transport_close(ws_transport* transport) {
    const std::unique_ptr<ws_transport> ending(transport);
    return succeeded([&] { ending->transport->close(); });
}
int ws_transport_close_keeping(ws_transport* transport) {
    const std::unique_ptr<ws_transport> ending(transport);
    return succeeded([&] { ending->transport->close_keeping(); });
}
int ws_kept_close(ws_page* page) {
    return succeeded([&] { close_kept(*page); });
}
void ws_transport_abandon(ws_transport* transport) { delete transport; }
const char* ws_transport_describe(ws_transport* transport) {
    return kept_text([&] { return "{" + transport->transport->describe() + "}"; });
}

ws_buffers* ws_buffers_open(ws_transport* transport, const char* memory, uint64_t bytes) {
    return guarded<ws_buffers*>(nullptr, [&] {
        return new ws_buffers{
            transport, transport->transport->allocate(memory_from(memory), bytes), {}};
    });
}
int ws_transport_by_address(ws_transport* transport) { return transport->transport->by_address(); }
ws_buffers* ws_buffers_open_parts(ws_transport* transport, const char* memory,
                                  const uint64_t* bytes, uint64_t count, uint64_t* places) {
    return guarded<ws_buffers*>(nullptr, [&] {
        auto& to = *transport->transport;
        if (!to.by_address()) throw Error("this transport has to know its buffers beforehand");
        auto made = std::unique_ptr<ws_buffers>(new ws_buffers{transport, {}, {}});
        Buffers& all = made->buffers;
        for (uint64_t i = 0; i < count; ++i)
            made->parts.push_back(to.allocate(memory_from(memory), bytes[i]));
        if (made->parts.empty()) throw Error("buffers have one allocation at least");
        const auto lowest = [&](auto side) {
            return std::ranges::min(made->parts, {}, side).*side;
        };
        all = made->parts.front();
        all.send = lowest(&Buffers::send);
        all.receive = lowest(&Buffers::receive);
        for (uint64_t i = 0; i < count; ++i) {
            const Buffers& part = made->parts[i];
            places[i] = static_cast<uint64_t>(part.send - all.send);
            places[count + i] = static_cast<uint64_t>(part.receive - all.receive);
            all.bytes = std::max({all.bytes, places[i] + bytes[i], places[count + i] + bytes[i]});
        }
        return made.release();
    });
}
int ws_buffers_close(ws_buffers* buffers) {
    const std::unique_ptr<ws_buffers> ending(buffers);
    return succeeded([&] {
        for (Buffers& each : ending->allocated()) ending->owner->transport->release(each);
    });
}
void ws_buffers_abandon(ws_buffers* buffers) { delete buffers; }
void* ws_buffers_send(ws_buffers* buffers) { return buffers->buffers.send; }
void* ws_buffers_receive(ws_buffers* buffers) { return buffers->buffers.receive; }

ws_program* ws_program_open(ws_transport* transport, ws_buffers* buffers,
                            const ws_transfer* transfers, uint64_t count, const ws_work* work,
                            uint64_t work_count, int flags) {
    return guarded<ws_program*>(nullptr, [&] {
        std::vector<Step> steps = steps_of(*transport, *buffers, {transfers, count});
        Buffers used = buffers->buffers;
        if (flags & 1) used.receive = used.send;
        for (uint64_t i = 0; i < work_count; ++i) add_work(steps, work[i], used);
        const bool works = std::any_of(steps.begin(), steps.end(),
                                       [](const Step& step) { return step.has_work(); });
        // Where work changes what arrives, what the last step brings is what the iteration ends
        // with.
        std::size_t received = 0;
        for (const Step& step : std::span(steps).last(works ? 1 : steps.size()))
            for (const Transfer& each : step.receives)
                if (!each.back) received = std::max(received, each.offset + each.bytes);
        auto& to = *transport->transport;
        const bool part = has_part(steps, transport->context);
        if (flags & 4)
            return new ws_program{
                transport,
                used,
                0,
                false,
                part,
                make_work_program(transport->context, steps, used, to.takes_gated_work())};
        return new ws_program{
            transport, used,
            received,  (flags & 2) != 0,
            part,      works ? to.compile_with_work(steps, used) : to.compile(steps, used)};
    });
}
ws_program* ws_collective_open(ws_transport* transport, ws_buffers* buffers,
                               const ws_collective* given, int flags) {
    return guarded<ws_program*>(nullptr, [&] {
        if (given->operation < 0 || given->operation > Collective::barrier || given->type < 0 ||
            given->type > Collective::int32 || given->reduction < 0 ||
            given->reduction > Collective::min)
            throw Error("there is no such collective operation, type or reduction");
        if (given->root < 0 || given->root >= transport->control.size())
            throw Error("root " + std::to_string(given->root) + ": there are " +
                        std::to_string(transport->control.size()) + " ranks");
        Buffers used = buffers->buffers;
        used.receive = used.send;
        require_inside(used, given->from, given->from_bytes);
        require_inside(used, given->to, given->to_bytes);
        const Collective collective{static_cast<Collective::Operation>(given->operation),
                                    static_cast<Collective::Type>(given->type),
                                    static_cast<Collective::Reduction>(given->reduction),
                                    given->root,
                                    given->count,
                                    given->from,
                                    given->to,
                                    given->gets != 0,
                                    given->in_place != 0};
        return new ws_program{
            transport,        used, 0,
            (flags & 2) != 0, true, transport->transport->compile_collective(collective, used)};
    });
}
void ws_program_close(ws_program* program) { delete program; }
int ws_program_run(ws_program* program, int iterations, double* seconds) {
    return succeeded([&] {
        *seconds = run_part(*program, [&](Program& run) { return run_untimed(run, iterations); });
    });
}
int ws_program_sample(ws_program* program, int untimed, int iterations_per_sample, int samples,
                      double* seconds, ws_batch_clocks* clocks) {
    return succeeded([&] {
        StartBoard& board = *program->owner->context.start_board;
        if (program->barrier_per_sample) board.record(program->start_skew);
        const std::span<double> found_seconds{seconds, static_cast<std::size_t>(samples)};
        BatchClocks found = run_part(*program, [&](Program& run) {
            return run_samples(
                run, {untimed, iterations_per_sample, samples, program->barrier_per_sample},
                found_seconds);
        });
        board.record(nullptr);
        if (!program->has_part) {
            std::fill(found_seconds.begin(), found_seconds.end(), 0.0);
            found = {};
        }
        *clocks = {found.host, found.stamped, found.verdict};
    });
}
const char* ws_program_start(ws_program* program) {
    return kept_text([&]() -> std::string {
        StartBoard& board = *program->owner->context.start_board;
        board.arrive();
        const StartSkew skew = std::exchange(*program->start_skew, {});
        if (skew.by.empty()) return "{}";
        std::ostringstream text;
        text << "{\"by\": " << json_text(skew.by) << ", \"samples\": " << skew.samples()
             << ", \"skew_s\": " << skew.median() << ", \"skew_max_s\": " << skew.largest();
        if (!board.why().empty()) text << ", \"why\": " << json_text(board.why());
        text << "}";
        return text.str();
    });
}
int ws_program_clock(ws_program* program, double* cost, double* resolution) {
    return succeeded([&] {
        const ClockQuality clock = program->program->clock();
        *cost = clock.cost;
        *resolution = clock.resolution;
    });
}
const char* ws_program_describe(ws_program* program) {
    return kept_text([&] {
        std::string text = program->program->describe();
        if (program->barrier_per_sample && !program->program->has_barrier())
            text += std::string(text.empty() ? "" : ", ") + "\"samples\": \"back to back\"";
        return "{" + text + "}";
    });
}

struct ws_soak {
    std::unique_ptr<Soak> soak;
};

ws_soak* ws_soak_open(ws_transport* transport, ws_buffers* buffers, const ws_transfer* transfers,
                      uint64_t count, uint64_t apart, const ws_program* timed, const char* fault,
                      uint64_t every) {
    return guarded<ws_soak*>(nullptr, [&] {
        const std::vector<Step> steps = steps_of(*transport, *buffers, {transfers, count});
        for (uint64_t i = 0; i < count; ++i)
            require_inside(buffers->buffers, transfers[i].offset + (ws_soak_places - 1) * apart,
                           transfers[i].bytes);
        return new ws_soak{std::make_unique<Soak>(*transport->transport, transport->context, steps,
                                                  buffers->buffers, apart, *timed->program,
                                                  PlantedFault{fault, every})};
    });
}
void ws_soak_close(ws_soak* soak) { delete soak; }
int ws_soak_run(ws_soak* soak, int rounds, double* seconds) {
    return succeeded([&] { *seconds = soak->soak->run(rounds); });
}
int ws_soak_settle(ws_soak* soak) {
    return succeeded([&] { soak->soak->settle(); });
}
int ws_soak_count(ws_soak* soak, ws_soak_counts* counts) {
    return succeeded([&] {
        const SoakCounts found = soak->soak->counts();
        const WsSoakFirst& first = found.state.first;
        *counts = {found.iterations,
                   found.state.checked,
                   {found.state.kinds[0], found.state.kinds[1], found.state.kinds[2],
                    found.state.kinds[3]},
                   found.state.fault.planted,
                   found.sender,
                   static_cast<int32_t>(first.kind),
                   first.iteration,
                   first.offset,
                   first.lag,
                   first.expected,
                   first.found};
    });
}
const char* ws_soak_describe(ws_soak* soak) {
    return kept_text([&] { return "{" + soak->soak->describe() + "}"; });
}
