#include "kernels/cpu.hpp"

#include <map>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace wirespeed::cpu {
namespace {

std::map<std::string, Entry, std::less<>>& entries() {
    static std::map<std::string, Entry, std::less<>> all;
    return all;
}

}  // namespace

void add(std::string name, Entry entry) { entries()[std::move(name)] = entry; }

void run(std::string_view kernel, unsigned blocks, void** arguments, Translate translate) {
    auto found = entries().find(kernel);
    if (found == entries().end()) throw Error("no kernel called " + std::string(kernel));
    if (blocks == 1) {
        grid = {0, 1};
        found->second(arguments, translate);
        return;
    }
    std::vector<std::jthread> threads;
    for (unsigned block = 0; block < blocks; ++block)
        threads.emplace_back([=, entry = found->second] {
            grid = {block, blocks};
            entry(arguments, translate);
        });
}

}  // namespace wirespeed::cpu
