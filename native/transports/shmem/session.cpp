#include "transports/shmem/session.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/segment.hpp"
#include "transports/local/symmetric_heap.hpp"

namespace wirespeed::shmem {
namespace {

/// The stand-in for NVSHMEM that tests bring along has this symbol.
constexpr const char* stand_in = "wirespeed_emulates_nvshmem";

/// NVSHMEM ends the process where there is no NVIDIA GPU: it is not even asked there.
Library open_library(const std::string& device) {
    if (device != "cuda" && device != "emulated")
        throw Unavailable("NVSHMEM moves the memory of NVIDIA GPUs, and this device is of kind '" +
                          device + "' (--device cuda)");
    try {
        Library library("nvshmem", {"libnvshmem_host.so.3"});
        if (device == "emulated" && !library.find(stand_in))
            throw Unavailable("NVSHMEM needs an NVIDIA GPU; an emulated one will not do");
        return library;
    } catch (const Unavailable& error) {
        if (std::string(error.what()).find("not found") == std::string::npos) throw;
        throw Unavailable("libnvshmem_host.so.3 not found (pip install nvidia-nvshmem-cu13)");
    }
}

Library open_everywhere(Context& context) {
    std::vector<Library> opened;
    exchange(context.control, [&] {
        opened.push_back(open_library(context.device.identity().kind));
        return true;
    });
    return std::move(opened.front());
}

/// Without NVIDIA's multi-process service, what waits in one rank's stream keeps another rank of
/// the same GPU from ever coming to its turn.
void refuse_shared_gpus(Context& context) {
    using Id = std::array<char, 64>;
    const auto ids = exchange(context.control, [&] {
        Id id{};
        context.device.identity().id.copy(id.data(), id.size() - 1);
        return id;
    });
    const auto here = same_host(context.control);
    const auto me = static_cast<std::size_t>(context.control.rank());
    exchange(context.control, [&] {
        for (std::size_t rank = 0; rank < me; ++rank)
            if (here[rank] && ids[rank] == ids[me])
                throw Unavailable("ranks " + std::to_string(rank) + " and " + std::to_string(me) +
                                  " share a GPU, and NVSHMEM needs one for each rank");
        return true;
    });
}

/// What NVSHMEM reads when it starts; what the user has set stays.
void prepare_environment(Context& context, bool one_host) {
    const auto set = [](const char* name, const std::string& value) {
        setenv(name, value.c_str(), 0);
    };
    // A heap that grows as needed is used where CUDA has virtual memory management that network
    // adapters can reach, too; elsewhere the whole heap is taken at the start.
    const std::size_t memory = context.device.identity().bytes;
    const std::size_t heap = memory ? std::min(largest_heap, memory / 4) : largest_heap;
    set("NVSHMEM_SYMMETRIC_SIZE", std::to_string(heap));
    // Puts never use NVLink's multicast, and where it goes wrong it takes the host's GPUs along.
    set("NVSHMEM_DISABLE_NVLS", "1");
    // It would move this process to other CPUs: where ranks run is the launcher's choice.
    set("NVSHMEM_CPU_AFFINITY", "OFF");
    if (one_host) set("NVSHMEM_REMOTE_TRANSPORT", "none");
}

void join(Context& context, const Nvshmem& calls) {
    const int me = context.control.rank(), ranks = context.control.size();
    const auto here = same_host(context.control);
    prepare_environment(context, std::find(here.begin(), here.end(), false) == here.end());
    auto ids = exchange(context.control, [&] {
        Nvshmem::UniqueId id;
        if (me != 0) return id;
        if (const int code = calls.get_unique_id(&id))
            throw Error("nvshmemx_get_uniqueid", "", "error " + std::to_string(code));
        return id;
    });
    context.page.enter(context.page.name("nvshmemx_init_attr"));
    exchange(context.control, [&] {
        Nvshmem::Attributes attributes;
        int code = calls.set_unique_id(me, ranks, &ids[0], &attributes);
        if (!code) code = calls.init(Nvshmem::init_with_unique_id, &attributes);
        if (code)
            throw Error("nvshmemx_init_attr",
                        std::to_string(me) + " of " + std::to_string(ranks) + " ranks",
                        "error " + std::to_string(code) + " (NVSHMEM_DEBUG=WARN says more)");
        if (calls.rank() != me) throw Error("NVSHMEM counts the ranks in another order than MPI");
        return true;
    });
    context.page.leave();
}

}  // namespace

Session::Session(Context& context)
    : context_(context), library_(open_everywhere(context)), calls_(library_) {
    refuse_shared_gpus(context);
    join(context, calls_);
}

void Session::close() noexcept {
    context_.page.enter(context_.page.name("nvshmem_finalize"));
    calls_.finalize();
    context_.page.leave();
}

std::string Session::describe() const {
    int major = 0, minor = 0, patch = 0;
    calls_.version(&major, &minor, &patch);
    return "\"library\": " + json_text("NVSHMEM " + std::to_string(major) + "." +
                                       std::to_string(minor) + "." + std::to_string(patch));
}

}  // namespace wirespeed::shmem
