#include "libraries/library.hpp"

#include <dlfcn.h>

#include <map>

#include "core/error.hpp"

namespace wirespeed {
namespace {

std::map<std::string, std::string>& known_paths() {
    static std::map<std::string, std::string> paths;
    return paths;
}

}  // namespace

void Library::set_path(const std::string& name, const std::string& path) {
    known_paths()[name] = path;
}

std::string Library::known_path(const std::string& name) {
    const auto known = known_paths().find(name);
    return known == known_paths().end() ? "" : known->second;
}

Library::Library(std::string name, const std::vector<std::string>& candidates)
    : name_(std::move(name)) {
    std::vector<std::string> all;
    if (const std::string known = known_path(name_); !known.empty()) all.push_back(known);
    all.insert(all.end(), candidates.begin(), candidates.end());
    std::string why;
    for (const auto& path : all) {
        handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_) {
            path_ = path;
            return;
        }
        const char* text = dlerror();
        if (!why.empty()) why += "; ";
        why += text ? text : path;
    }
    throw Unavailable(name_ + " not found: " + why);
}

Library::~Library() {
    // Vendor libraries do not survive being unloaded under running threads: they stay until exit.
}

Library::Library(Library&& other) noexcept
    : name_(std::move(other.name_)), path_(std::move(other.path_)), handle_(other.handle_) {
    other.handle_ = nullptr;
}

void* Library::find(const char* symbol) const noexcept {
    return handle_ ? dlsym(handle_, symbol) : nullptr;
}

void* Library::symbol(const char* symbol) const {
    void* address = find(symbol);
    if (!address) throw Error("dlsym", path_ + ", " + symbol, "no such symbol");
    return address;
}

}  // namespace wirespeed
