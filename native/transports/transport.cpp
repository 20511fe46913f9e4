#include "transports/transport.hpp"

#include "core/error.hpp"

namespace wirespeed {
namespace {

std::map<std::string, OpenTransport>& transports() {
    static std::map<std::string, OpenTransport> all;
    return all;
}

}  // namespace

AddTransport::AddTransport(const char* name, OpenTransport open) { transports()[name] = open; }

std::unique_ptr<Transport> open_transport(const std::string& name, Context& context) {
    auto found = transports().find(name);
    if (found == transports().end()) throw Error("no transport called '" + name + "'");
    return found->second(context);
}

std::size_t Context::number(const std::string& name, std::size_t otherwise, std::size_t least,
                            std::size_t most) const {
    const std::string text = option(name, std::to_string(otherwise));
    std::size_t used = 0, number = 0;
    try {
        number = std::stoull(text, &used);
    } catch (const std::exception&) {
        used = 0;
    }
    if (used == 0 || used != text.size() || text[0] == '-' || number < least || number > most)
        throw Error("transport option " + name + " is a number from " + std::to_string(least) +
                    " to " + std::to_string(most) + ", not '" + text + "'");
    return number;
}

Buffers Transport::allocate(Memory kind, std::size_t bytes) {
    const std::string elsewhere = context_.option("into", "");
    const Memory into = elsewhere.empty() ? kind : memory_from(elsewhere);
    Allocation send(context_.device, kind, bytes), receive(context_.device, into, bytes);
    Buffers buffers;
    buffers.kind = kind;
    buffers.into = into;
    buffers.bytes = bytes;
    buffers.send = send.hand_over();
    buffers.receive = receive.hand_over();
    return buffers;
}

std::unique_ptr<Program> HostTransport::compile(std::span<const Step> steps,
                                                const Buffers& buffers) {
    std::vector<std::unique_ptr<Action>> iteration;
    for (const auto& step : steps)
        if (!step.sends.empty() || !step.receives.empty())
            iteration.push_back(compile_step(step, buffers));
    return std::make_unique<HostProgram>(context_.page, std::move(iteration), align());
}

void Transport::abandon(Buffers& buffers) noexcept {
    if (buffers.send) context_.device.release(buffers.kind, buffers.send);
    if (buffers.receive) context_.device.release(buffers.into, buffers.receive);
    buffers = {};
}

}  // namespace wirespeed
