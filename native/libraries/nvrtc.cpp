#include "libraries/nvrtc.hpp"

#include "core/error.hpp"

namespace wirespeed::nvrtc {
namespace {

Library find_library() {
    try {
        return Library("nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                 "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
    } catch (const Error& error) {
        throw Error(std::string(error.what()) + " (pip install nvidia-cuda-nvrtc)");
    }
}

}  // namespace

RuntimeCompiler open() {
    const Library library = find_library();
    RuntimeCompiler table;
#define WS_BIND(member, symbol) library.bind(table.member, #symbol);
#define WS_BIND_IF_THERE(member, symbol) \
    table.member = reinterpret_cast<decltype(table.member)>(library.find(#symbol));
    WS_NVRTC_CALLS(WS_BIND)
    WS_NVRTC_NEWER_CALLS(WS_BIND_IF_THERE)
#undef WS_BIND
#undef WS_BIND_IF_THERE
    return table;
}

}  // namespace wirespeed::nvrtc
