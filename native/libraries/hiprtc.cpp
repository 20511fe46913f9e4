#include "libraries/hiprtc.hpp"

#include "core/error.hpp"

namespace wirespeed::hiprtc {
namespace {

struct Comgr {
    WS_COMGR_CALLS(WS_TABLE_MEMBER)
    explicit Comgr(const Library& library) { WS_COMGR_CALLS(WS_TABLE_BIND) }
};

/// "gfx90a" of "amdgcn-amd-amdhsa--gfx90a:xnack-".
std::string processor(const std::string& isa) {
    const auto system = isa.find("--");
    if (system == std::string::npos) return isa;
    const std::string name = isa.substr(system + 2);
    return name.substr(0, name.find(':'));
}

}  // namespace

RuntimeCompiler open() {
    const Library library("hiprtc",
                          {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
                           "/opt/rocm/lib/libhiprtc.so", "libamdhip64.so.5", "libamdhip64.so"});
    RuntimeCompiler table;
#define WS_BIND(member, symbol) library.bind(table.member, #symbol);
    WS_HIPRTC_CALLS(WS_BIND)
#undef WS_BIND
    return table;
}

std::vector<std::string> architectures() try {
    const Comgr comgr(Library("comgr", {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so",
                                        "/opt/rocm/lib/libamd_comgr.so"}));
    std::size_t count = 0;
    if (comgr.isa_count(&count) != 0) return {};
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        if (comgr.isa_name(i, &name) == 0 && name) all.push_back(processor(name));
    }
    return all;
} catch (const Error&) {
    return {};
}

}  // namespace wirespeed::hiprtc
