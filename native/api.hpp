// What the parts of the C interface share: exceptions become a return value and one line of text.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "core/error.hpp"
#include "devices/device.hpp"

#pragma GCC visibility push(default)
#include "wirespeed.h"
#pragma GCC visibility pop

struct ws_device {
    std::unique_ptr<wirespeed::Device> device;
};

namespace wirespeed::api {

inline thread_local std::string last_error;
inline thread_local bool last_is_lack = false;
inline thread_local std::string last_text;

/// Runs `body`; an exception becomes `failure` and ws_error()'s text.
template <class Result, class Body> Result guarded(Result failure, Body body) noexcept {
    last_is_lack = false;
    try {
        return body();
    } catch (const Unavailable& error) {
        last_error = error.what();
        last_is_lack = true;
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";
    } catch (const std::exception& error) {
        last_error = error.what();
    } catch (...) {
        last_error = "unknown error";
    }
    return failure;
}

template <class Body> int succeeded(Body body) noexcept {
    return guarded(-1, [&] {
        body();
        return 0;
    });
}

}  // namespace wirespeed::api
