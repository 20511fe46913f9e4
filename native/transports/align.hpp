// How the ranks of a program start together.
#pragma once

#include <memory>

#include "transports/transport.hpp"

namespace wirespeed {

/// By the traffic of the set-up, whatever carries it.
class ControlAlign final : public Action {
  public:
    explicit ControlAlign(Context& context)
        : context_(context), call_(context.page.name("barrier before a batch")) {}
    void run() override {
        context_.page.enter(call_);
        context_.control.barrier();
    }

  private:
    Context& context_;
    CallId call_;
};

/// By a barrier of MPI where there is one, which ranks leave more closely together.
std::unique_ptr<Action> align(Context& context);

}  // namespace wirespeed
