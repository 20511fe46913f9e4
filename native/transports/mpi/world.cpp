#include "transports/mpi/world.hpp"

#include <dlfcn.h>

#include <string_view>

#include "core/error.hpp"

namespace wirespeed::mpi {
namespace {

std::unique_ptr<AnyWorld>& slot() {
    static std::unique_ptr<AnyWorld> opened;
    return opened;
}

}  // namespace

template <class Abi>
void Calls<Abi>::check(int code, const char* call, const std::string& arguments) const {
    if (code == success) return;
    char text[max_error_string + 1] = "";
    int length = 0;
    if (error_string(code, text, &length) != success || length <= 0)
        throw Error(call, arguments, "error code " + std::to_string(code));
    std::string line(text, static_cast<std::size_t>(length));
    for (char& c : line)
        if (c == '\n') c = ' ';
    throw Error(call, arguments, line);
}

template struct Calls<OpenMpiAbi>;
template struct Calls<MpichAbi>;

void open_world(const std::string& path, std::uint64_t communicator) {
    Library library("MPI", {path});
    if (is_openmpi(library))
        slot() = std::make_unique<AnyWorld>(std::in_place_type<World<OpenMpiAbi>>,
                                            std::move(library), communicator);
    else
        slot() = std::make_unique<AnyWorld>(std::in_place_type<World<MpichAbi>>, std::move(library),
                                            communicator);
}

bool is_open() { return slot() != nullptr; }

AnyWorld& world() {
    if (!is_open()) throw Error("no MPI joined these ranks; start them with mpiexec");
    return *slot();
}

const char* world_abi() {
    return std::visit([](auto& opened) { return std::decay_t<decltype(opened)>::abi::name; },
                      world());
}

std::string openmpi_layer() {
    // The table of the layer in use; it begins with a function of that layer.
    const void* const table = std::visit(
        [](auto& opened) -> const void* { return opened.library.find("mca_pml"); }, world());
    Dl_info info{};
    if (!table || !dladdr(*static_cast<void* const*>(table), &info)) return {};
    constexpr std::string_view prefix = "mca_pml_";
    // A layer inside libmpi is known by the function, another one by its file.
    for (const char* const word : {info.dli_sname, info.dli_fname}) {
        const std::string_view name = word ? word : "";
        const auto at = name.find(prefix);
        if (at == name.npos) continue;
        const auto begin = at + prefix.size();
        return std::string(name.substr(begin, name.find_first_of("_.", begin) - begin));
    }
    return {};
}

}  // namespace wirespeed::mpi
