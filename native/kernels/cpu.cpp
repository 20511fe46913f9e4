#include "kernels/cpu.hpp"

#include <map>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace wirespeed::cpu {
namespace {

struct Kernel {
    Entry entry;
    std::size_t arguments;
};

std::map<std::string, Kernel, std::less<>>& kernels() {
    static std::map<std::string, Kernel, std::less<>> all;
    return all;
}

const Kernel& find(std::string_view name) {
    auto found = kernels().find(name);
    if (found == kernels().end()) throw Error("no kernel called " + std::string(name));
    return found->second;
}

}  // namespace

void add(std::string name, Entry entry, std::size_t arguments) {
    kernels()[std::move(name)] = {entry, arguments};
}

std::size_t argument_count(std::string_view kernel) { return find(kernel).arguments; }

void run(std::string_view kernel, unsigned blocks, void** arguments, Translate translate) {
    const Entry entry = find(kernel).entry;
    if (blocks == 1) {
        grid = {0, 1, translate};
        entry(arguments, translate);
        return;
    }
    std::vector<std::jthread> threads;
    for (unsigned block = 0; block < blocks; ++block)
        threads.emplace_back([=] {
            grid = {block, blocks, translate};
            entry(arguments, translate);
        });
}

}  // namespace wirespeed::cpu
