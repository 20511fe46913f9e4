#include "kernels/compile.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "core/error.hpp"
#include "kernels/cache.hpp"
#include "kernels/compile_apart.hpp"
#include "kernels/source.hpp"
#include "libraries/hiprtc.hpp"
#include "libraries/nvrtc.hpp"

namespace wirespeed {
namespace {

/// A compiler and what to tell it for one GPU.
struct Target {
    const RuntimeCompiler& compiler;
    std::string name;                  ///< "NVRTC 13.0"
    std::string architecture;          ///< its option's value
    std::vector<const char*> options;  ///< a * b + c stays two operations, for one
    bool assembly = false;             ///< the driver turns it into machine code
    bool apart = false;                ///< it may end its process
};

std::string name_of(const RuntimeCompiler& compiler, const std::string& product) {
    int major = 0, minor = 0;
    compiler.version(&major, &minor);
    return product + " " + std::to_string(major) + "." + std::to_string(minor);
}

/// The best that NVRTC has for a GPU of compute capability `wanted` (90): itself; else the nearest
/// older one, whose code runs within the same major version; else PTX for the driver to compile.
Target nvidia_target(const std::string& architecture) {
    static const RuntimeCompiler compiler = nvrtc::open();
    // Without the second one, 12.9 and 13.0 take a generic lambda for a function of the host.
    Target target{compiler,
                  name_of(compiler, "NVRTC"),
                  architecture,
                  {"--fmad=false", "--device-as-default-execution-space"}};
    const int wanted = std::atoi(architecture.c_str() + 3);
    std::vector<int> known;
    if (int count = 0; compiler.architecture_count && compiler.architectures &&
                       compiler.architecture_count(&count) == RuntimeCompiler::success) {
        known.resize(static_cast<std::size_t>(count));
        if (compiler.architectures(known.data()) != RuntimeCompiler::success) known.clear();
    }
    if (known.empty() || std::find(known.begin(), known.end(), wanted) != known.end())
        return target;
    std::sort(known.begin(), known.end());
    const auto above = std::upper_bound(known.begin(), known.end(), wanted);
    if (above == known.begin())
        throw Error(target.name + " compiles for sm_" + std::to_string(known.front()) +
                    " and newer, not for " + architecture +
                    (wanted < 50 ? "" : " (pip install nvidia-cuda-nvrtc-cu12)"));
    const int nearest = *(above - 1);
    target.assembly = nearest / 10 != wanted / 10;
    target.architecture = (target.assembly ? "compute_" : "sm_") + std::to_string(nearest);
    return target;
}

Target amd_target(const std::string& architecture) {
    static const RuntimeCompiler compiler = hiprtc::open();
    Target target{compiler, name_of(compiler, "hipRTC"), architecture, {"-ffp-contract=off"}};
    target.apart = !compiler_command().empty();
    const auto known = hiprtc::architectures();
    if (!known.empty() && std::find(known.begin(), known.end(), architecture) == known.end()) {
        std::string list;
        for (const auto& each : known) list += " " + each;
        throw Unavailable(target.name + " does not compile for " + architecture + ", only for" +
                          list);
    }
    return target;
}

Target target_for(const std::string& architecture) {
    const bool number =
        architecture.size() > 3 && std::isdigit(static_cast<unsigned char>(architecture[3]));
    if (number && architecture.rfind("sm_", 0) == 0) return nvidia_target(architecture);
    if (number && architecture.rfind("gfx", 0) == 0) return amd_target(architecture);
    throw Error("kernels are compiled for sm_* or gfx*, not for '" + architecture + "'");
}

/// One translation unit in a run-time compiler.
class Unit {
  public:
    Unit(const RuntimeCompiler& compiler, std::string name, const std::string& source)
        : compiler_(compiler), name_(std::move(name)) {
        check(compiler_.create(&program_, source.c_str(), "wirespeed", 0, nullptr, nullptr),
              "create program");
    }
    ~Unit() { compiler_.destroy(&program_); }
    Unit(const Unit&) = delete;
    Unit& operator=(const Unit&) = delete;

    void compile(const std::string& architecture, std::vector<const char*> options) {
        const std::string gpu = "--gpu-architecture=" + architecture;
        options.insert(options.end(), {gpu.c_str(), "-std=c++17"});
        const int code =
            compiler_.compile(program_, static_cast<int>(options.size()), options.data());
        if (code == RuntimeCompiler::success) return;
        std::string log = text(compiler_.log_size, compiler_.log);
        while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
        throw Error(name_ + ", compile", architecture,
                    std::string(compiler_.error_string(code)) + (log.empty() ? "" : "\n") + log);
    }

    std::string text(int (*size)(void*, std::size_t*), int (*get)(void*, char*)) {
        std::size_t bytes = 0;
        check(size(program_, &bytes), "get size");
        std::string all(bytes, '\0');
        check(get(program_, all.data()), "get text");
        return all;
    }

  private:
    void check(int code, const char* call) const {
        if (code != RuntimeCompiler::success)
            throw Error(name_, call, compiler_.error_string(code));
    }

    const RuntimeCompiler& compiler_;
    std::string name_;
    void* program_ = nullptr;
};

std::string compile_in_process(const Target& target, const std::string& source) {
    Unit unit(target.compiler, target.name, source);
    unit.compile(target.architecture, target.options);
    return target.assembly ? unit.text(target.compiler.assembly_size, target.compiler.assembly)
                           : unit.text(target.compiler.code_size, target.compiler.code);
}

std::string compile(const Target& target, const KernelUnit& unit) {
    return target.apart ? compile_apart(unit.name, target.architecture, target.name)
                        : compile_in_process(target, unit.text);
}

}  // namespace

KernelCode kernel_code(const KernelUnit& unit, const std::string& architecture) {
    const Target target = target_for(architecture);
    std::string key = unit.text + '\n' + target.architecture;
    for (const char* option : target.options) key += std::string(" ") + option;
    key += '\n' + target.name;
    KernelCode result{load_cached(key), target.name};
    if (result.code.empty()) {
        result.code = compile(target, unit);
        store_cached(key, result.code);
    }
    return result;
}

std::string compile_here(std::string_view name, const std::string& architecture) {
    for (const KernelUnit& unit : kernel_units())
        if (unit.name == name) return compile_in_process(target_for(architecture), unit.text);
    throw Error("no kernels called " + std::string(name));
}

namespace {

/// Also as a part of no other name.
bool names(const std::string& text, std::string_view kernel) {
    const auto goes_on = [&](std::size_t at) {
        return at < text.size() && (text[at] == '_' || std::isalnum(text[at]));
    };
    for (std::size_t at = text.find(kernel); at != std::string::npos;
         at = text.find(kernel, at + 1))
        if (!goes_on(at - 1) && !goes_on(at + kernel.size())) return true;
    return false;
}

}  // namespace

const KernelUnit& unit_of(std::string_view kernel) {
    for (const KernelUnit& unit : kernel_units())
        if (names(unit.text, kernel)) return unit;
    throw Error("no kernel called " + std::string(kernel));
}

std::size_t compile_kernels(const std::string& architecture) {
    std::size_t bytes = 0;
    for (const KernelUnit& unit : kernel_units())
        bytes += compile(target_for(architecture), unit).size();
    return bytes;
}

}  // namespace wirespeed
