// What the thread sanitizer is told of a block's lanes: nothing but barriers orders them. So it
// finds what a GPU's lanes would race for, although on the CPU they take turns. Other builds:
// nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>

extern "C" {
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
}
#endif

namespace wirespeed::cpu {

#if defined(__SANITIZE_THREAD__)

/// As long as it lives, accesses are the model's own, and no kernel's.
class Unseen {
  public:
    Unseen() { __tsan_ignore_thread_begin(); }
    ~Unseen() { __tsan_ignore_thread_end(); }
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;
};

/// All before publish() comes before what follows observe() of the same place.
inline void publish(void* place) { __tsan_release(place); }
inline void observe(void* place) { __tsan_acquire(place); }

#else

class Unseen {
  public:
    Unseen() {}
};
inline void publish(void*) {}
inline void observe(void*) {}

#endif

}  // namespace wirespeed::cpu
