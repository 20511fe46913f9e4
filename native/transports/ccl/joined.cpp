#include "transports/ccl/joined.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"

extern char** environ;

namespace wirespeed::ccl {

Joined::~Joined() {
    if (handle) calls->abort(handle);
}

void Joined::close(Page& page) {
    page.enter(page.name("ncclCommDestroy"));
    check(calls->destroy(std::exchange(handle, nullptr)), "ncclCommDestroy");
    page.leave();
}

void Joined::check_meanwhile() {
    Nccl::Result met = Nccl::success;
    check(calls->async_error(handle, &met), "ncclCommGetAsyncError");
    if (met != Nccl::in_progress) check(met, "ncclCommGetAsyncError");
}

void Joined::fail(Nccl::Result code, const char* call, std::string_view arguments) {
    spoilt = true;
    throw Error(call, arguments, Nccl::text(*calls, code, handle));
}

bool Joined::fits(const Device& other, int its_rank, int its_size) const {
    return device == &other && rank == its_rank && size == its_size && settings == own_settings();
}

std::string Joined::own_settings() {
    std::string found;
    for (char** each = environ; *each; ++each) {
        const std::string_view word = *each;
        const auto equals = word.find('=');
        if (equals == std::string_view::npos || word.substr(0, 10) == "NCCL_DEBUG") continue;
        if (word.substr(0, 5) != "NCCL_" && word.substr(0, 5) != "RCCL_") continue;
        if (!found.empty()) found += ", ";
        found += json_text(word.substr(0, equals)) + ": " + json_text(word.substr(equals + 1));
    }
    return found;
}

}  // namespace wirespeed::ccl
