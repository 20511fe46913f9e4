// What the parts of the C interface share: what its handles stand for, and how exceptions become a
// return value and one line of text.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "devices/device.hpp"
#include "measure/page.hpp"
#include "measure/program.hpp"
#include "transports/local/start_board.hpp"
#include "transports/transport.hpp"

#pragma GCC visibility push(default)
#include "wirespeed.h"
#pragma GCC visibility pop

namespace wirespeed::api {

/// Set-up traffic by the functions that the caller gave.
class ForeignControl final : public Control {
  public:
    explicit ForeignControl(const ws_control& calls) : calls_(calls) {}
    int rank() const override { return calls_.rank; }
    int size() const override { return calls_.size; }
    void allgather(const void* mine, void* all, std::size_t bytes_each) override {
        check(calls_.allgather(calls_.user, mine, all, bytes_each), "allgather");
    }
    void broadcast(void* data, std::size_t bytes, int root) override {
        check(calls_.broadcast(calls_.user, data, bytes, root), "broadcast");
    }
    void barrier() override { check(calls_.barrier(calls_.user), "barrier"); }
    std::vector<int> connect(const std::vector<int>& peers) override {
        std::vector<int> found(peers.size());
        check(
            calls_.connect(calls_.user, peers.data(), static_cast<int>(peers.size()), found.data()),
            "connect");
        return found;
    }

  private:
    static void check(int code, const char* call) {
        if (code) throw Error(std::string("set-up traffic failed in ") + call);
    }
    ws_control calls_;
};

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

/// 0, or -1 where `body` throws.
template <class Body> int succeeded(Body body) noexcept {
    return guarded(-1, [&] {
        body();
        return 0;
    });
}

/// The string that `body` returns, kept until this thread's next such call; null where it throws.
template <class Body> const char* kept_text(Body body) noexcept {
    return guarded<const char*>(nullptr, [&] {
        last_text = body();
        return last_text.c_str();
    });
}

}  // namespace wirespeed::api

struct ws_page : wirespeed::Page {
    using Page::Page;
};

struct ws_device {
    std::unique_ptr<wirespeed::Device> device;
};

struct ws_transport {
    ws_transport(const ws_control& calls, wirespeed::Device& device, wirespeed::Page& page,
                 std::map<std::string, std::string> options, const std::string& name)
        : control(calls), context{control, device, page, std::move(options),
                                  std::make_shared<wirespeed::StartBoard>(control)},
          transport(wirespeed::open_transport(name, context)) {
        page.layout().ranks = control.size();
    }
    wirespeed::api::ForeignControl control;
    wirespeed::Context context;
    std::unique_ptr<wirespeed::Transport> transport;
};

struct ws_buffers {
    ws_transport* owner;
    wirespeed::Buffers buffers;
    /// What it consists of where it has several allocations, over all of which `buffers` extends.
    std::vector<wirespeed::Buffers> parts;
    std::span<wirespeed::Buffers> allocated() {
        return parts.empty() ? std::span(&buffers, 1) : std::span(parts);
    }
    ~ws_buffers() {
        for (auto& each : allocated()) owner->transport->abandon(each);
    }
};

struct ws_program {
    ws_transport* owner;
    wirespeed::Buffers buffers;
    std::size_t received;
    bool barrier_per_sample;
    bool has_part;  ///< else this rank only waits for those that have one
    std::unique_ptr<wirespeed::Program> program;
    std::shared_ptr<wirespeed::StartSkew> start_skew = std::make_shared<wirespeed::StartSkew>();
};
