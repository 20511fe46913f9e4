// A function on a stack of its own, which hands over to its caller and goes on where it was:
// several of them take turns within one thread.
#pragma once

#include <setjmp.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "kernels/lane_order.hpp"

namespace wirespeed::cpu {

class Fiber {
  public:
    Fiber();
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// What resume() begins next; the body before it has ended. It throws nothing.
    void give(std::function<void()> body) {
        body_ = std::move(body);
        publish(this);
    }
    /// Runs the body until it calls leave() or ends. Always on the same thread.
    void resume();
    /// Called by the body: resume() returns now, and the next one goes on here.
    void leave();
    /// The body has ended: what it did comes before what follows.
    void join() { observe(this); }

  private:
    /// One of the two sides of a change of stacks.
    struct StackSide {
        jmp_buf place;
        const void* stack = nullptr;
        std::size_t bytes = 0;
        void* sanitizer = nullptr;  ///< what a sanitizer keeps of it
    };
    static void change(StackSide& from, StackSide& to);
    static void depart(StackSide& from, const StackSide& to);
    static void arrive(StackSide& here, StackSide& before);
    static void begin();
    void start();

    void* room_;
    bool started_ = false;
    std::function<void()> body_;
    StackSide inside_, outside_;
};

}  // namespace wirespeed::cpu
