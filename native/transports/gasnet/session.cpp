#include "transports/gasnet/session.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "transports/local/exchange.hpp"
#include "transports/local/segment.hpp"
#include "transports/local/symmetric_heap.hpp"
#include "transports/mpi/world.hpp"

namespace wirespeed::gasnet {
namespace {

/// Networks first, then shared memory, then what works on any network.
constexpr const char* conduits[] = {"ibv", "ofi", "ucx", "smp", "udp"};

/// Conduits without a master process meet through the ranks' own MPI, which must be of the kind
/// that GASNet was compiled with. Null for a conduit that takes none.
const char* mpi_of(const std::string& library) {
    std::ifstream file(library, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (content.find("MPI_Initialized") == std::string::npos) return nullptr;
    const bool open_mpi = content.find("ompi_mpi_comm_world") != std::string::npos;
    return open_mpi ? mpi::OpenMpiAbi::name : mpi::MpichAbi::name;
}

/// Why a conduit cannot join these ranks; empty: it can.
std::string why_not(const std::string& name, bool one_host) {
    const std::string library = Library::known_path("gasnet_" + name),
                      what = "GASNet's conduit " + name;
    if (library.empty())
        return what +
               " was not built; 'wirespeed paths --build gasnet --with PREFIX' builds all "
               "that a GASNet has";
    if (name == "smp" && !one_host)
        return what + " joins ranks of one host, and these are on several";
    const char* const mpi = mpi_of(library);
    if (!mpi || (mpi::is_open() && std::string(mpi::world_abi()) == mpi)) return {};
    return what + " joins ranks through an MPI like the one that GASNet was built with (" +
           (std::string(mpi) == mpi::OpenMpiAbi::name ? "Open MPI" : "MPICH") +
           (mpi::is_open() ? "), and these run under another" : "), and none joins these");
}

/// The number in `conduits` of the one to use on this rank.
std::size_t chosen_conduit(Context& context, bool one_host) {
    const std::string asked = context.option("conduit", "");
    std::string why;
    for (std::size_t i = 0; i < std::size(conduits); ++i) {
        if (!asked.empty() && conduits[i] != asked) continue;
        const std::string lacks = why_not(conduits[i], one_host);
        if (lacks.empty()) return i;
        const bool is_built = !Library::known_path(std::string("gasnet_") + conduits[i]).empty();
        if (!asked.empty() || (is_built && why.empty())) why = lacks;
    }
    if (!why.empty()) throw Unavailable(why);
    if (!asked.empty()) throw Error("conduit is ibv, ofi, ucx, smp or udp, not '" + asked + "'");
    throw Unavailable(
        "no conduit of GASNet was built; 'wirespeed paths --build gasnet --with PREFIX' "
        "builds those of the GASNet in PREFIX");
}

/// Makes the ranks' MPI visible to the libraries that are opened from now on.
void lend_mpi() {
    if (!mpi::is_open()) return;
    const std::string library =
        std::visit([](auto& world) { return world.library.path(); }, mpi::world());
    dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/// Before any other symbol is looked for: another version's library may have others.
const Library& of_this_version(const Library& library) {
    int (*interface)() = nullptr;
    library.bind(interface, "wirespeed_gasnet_interface");
    if (interface() != Gasnet::known_interface)
        throw Unavailable(library.path() +
                          " was built by another version of wirespeed; build it again with "
                          "'wirespeed paths --build gasnet --with PREFIX'");
    return library;
}

/// Users' own settings stay.
void set_variables(const std::string& conduit, std::size_t bytes) {
    std::string spawner = "GASNET_" + conduit + "_SPAWNER";
    std::transform(spawner.begin(), spawner.end(), spawner.begin(), ::toupper);
    const std::pair<std::string, std::string> variables[] = {
        {spawner, "mpi"},
        {"GASNET_QUIET", "1"},
        {"GASNET_NO_CATCH_SIGNAL", "*"},  // the diagnosis of a hang or a crash takes signals, too
        {"GASNET_MAX_SEGSIZE", std::to_string(bytes >> 20) + "MB/P"},
    };
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 0);
}

}  // namespace

Session::Session(std::string conduit, Library library)
    : conduit_(std::move(conduit)), library_(std::move(library)),
      calls_(of_this_version(library_)) {}

Session& Session::of(Context& context) {
    static std::unique_ptr<Session> only;
    if (only) {
        if (const auto asked = context.option("conduit", only->conduit_); asked != only->conduit_)
            throw Unavailable("this process already uses GASNet's " + only->conduit_ + " conduit");
        return *only;
    }
    const auto here = same_host(context.control);
    const auto ranks_here = std::count(here.begin(), here.end(), true);
    const bool one_host = ranks_here == context.control.size();
    const std::size_t heap_bytes = host_heap_bytes(static_cast<std::size_t>(ranks_here));
    const auto chosen =
        exchange(context.control, [&] { return chosen_conduit(context, one_host); });
    const std::string conduit = conduits[chosen[0]];
    std::unique_ptr<Session> opened;
    exchange(context.control, [&] {
        if (chosen[0] != chosen[static_cast<std::size_t>(context.control.rank())])
            throw Unavailable("the hosts have different conduits of GASNet");
        if (mpi_of(Library::known_path("gasnet_" + conduit))) lend_mpi();
        opened.reset(new Session(conduit, Library("gasnet_" + conduit, {})));
        set_variables(conduit, heap_bytes);
        return true;
    });
    if (opened->calls_.has_master()) start_master(context.control, opened->library_.path());
    opened->bytes_ = heap_bytes;
    opened->join(context);
    only = std::move(opened);
    return *only;
}

void Session::join(Context& context) {
    context.page.enter(context.page.name("gex_Client_Init"));
    const int error = calls_.join(bytes_);
    context.page.leave();
    const auto sizes = exchange(context.control, [&] {
        if (error) throw Error("gex_Client_Init", conduit_, calls_.error(error));
        if (calls_.rank() != context.control.rank() || calls_.ranks() != context.control.size())
            throw Error("GASNet counts the ranks in another way than the launcher");
        std::size_t bytes = 0;
        for (int rank = 0; rank < calls_.ranks(); ++rank) {
            bases_.push_back(static_cast<std::byte*>(calls_.memory(rank, &bytes)));
            bytes_ = std::min(bytes_, bytes);
        }
        mine_ = bases_[static_cast<std::size_t>(calls_.rank())];
        return bytes_;
    });
    bytes_ = *std::min_element(sizes.begin(), sizes.end());
}

std::byte* Session::allocate(std::size_t bytes) {
    constexpr std::size_t alignment = 4096;
    const std::size_t whole =
        (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    std::size_t begin = 0;
    for (const auto& [offset, taken] : used_) {
        if (begin + whole <= offset) break;
        begin = offset + taken;
    }
    if (begin + whole > bytes_) return nullptr;
    used_.emplace(begin, whole);
    return mine_ + begin;
}

}  // namespace wirespeed::gasnet
