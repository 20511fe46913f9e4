// The C library's hardened longjmp() takes another stack for a mistake.
#undef _FORTIFY_SOURCE

#include "kernels/fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace wirespeed::cpu {
namespace {

/// Room for a signal handler that writes the stack down, besides the kernel's own frames.
constexpr std::size_t stack_bytes = 256 << 10;

std::size_t guard_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

thread_local Fiber* newborn = nullptr;

}  // namespace

Fiber::Fiber() {
    const std::size_t guard = guard_bytes();
    room_ = mmap(nullptr, guard + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room_ == MAP_FAILED)
        throw Error("mmap", "the stack of a kernel's thread", std::strerror(errno));
    char* const stack = static_cast<char*>(room_) + guard;
    mprotect(stack, stack_bytes, PROT_READ | PROT_WRITE);
    inside_.stack = stack;
    inside_.bytes = stack_bytes;
#if defined(__SANITIZE_THREAD__)
    inside_.sanitizer = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(inside_.sanitizer);
#endif
    munmap(room_, guard_bytes() + stack_bytes);
}

void Fiber::resume() {
#if defined(__SANITIZE_THREAD__)
    outside_.sanitizer = __tsan_get_current_fiber();
#endif
    if (started_) return change(outside_, inside_);
    started_ = true;
    start();
}

void Fiber::leave() { change(inside_, outside_); }

// ucontext makes the first jump onto a new stack. The others are longjmp()s, which need no call of
// the operating system.
void Fiber::change(StackSide& from, StackSide& to) {
    if (_setjmp(from.place) == 0) {
        depart(from, to);
        _longjmp(to.place, 1);
    }
    arrive(from, to);
}

void Fiber::start() {
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = const_cast<void*>(inside_.stack);
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = nullptr;
    makecontext(&context, &Fiber::begin, 0);
    newborn = this;
    if (_setjmp(outside_.place) == 0) {
        depart(outside_, inside_);
        setcontext(&context);
    }
    arrive(outside_, inside_);
}

void Fiber::begin() {
    Fiber& self = *newborn;
    arrive(self.inside_, self.outside_);
    for (;;) {
        observe(&self);
        self.body_();
        publish(&self);
        self.leave();
    }
}

/// Sanitizers must know of a change of stacks before it is made and after it.
#if defined(__SANITIZE_THREAD__)
[[gnu::no_sanitize("thread")]]  // which the other side has written
#endif
void Fiber::depart([[maybe_unused]] StackSide& from, [[maybe_unused]] const StackSide& to) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from.sanitizer, to.stack, to.bytes);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
}

void Fiber::arrive([[maybe_unused]] StackSide& here, [[maybe_unused]] StackSide& before) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(here.sanitizer, &before.stack, &before.bytes);
#endif
}

}  // namespace wirespeed::cpu
