// Runs the kernels' source text on the CPU: a block is one thread, and its threads, the lanes, take
// turns in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace wirespeed::cpu {

/// Turns a pointer as its owner sees it into one that the CPU may follow.
using Translate = void* (*)(void*);
inline void* same_address(void* address) { return address; }

/// What a lane knows of where it runs.
struct Grid {
    unsigned long long block = 0, blocks = 1;
    unsigned lane = 0, lanes = 1, most_lanes = 1;
    Translate translate = same_address;
};
inline constinit thread_local Grid grid;

/// A line of a kernel's text: where its lanes wait for each other.
struct Site {
    const char* file = "";
    int line = 0;
    bool operator==(const Site&) const = default;
};

/// A warp, where kernels name one.
constexpr unsigned warp_lanes = 32;

/// Back when all lanes of the block, or of the warp, have come to this place; for several lanes.
void meet(Site site);
void meet_warp(Site site);
/// Lets the other lanes run, and other threads.
void pause();
/// This kernel was told to end: from now on its lanes need not come to the same barriers.
void give_up();
/// The block's bulk copy engine.
class TmaModel;
TmaModel& tma();

using KernelEntry = void (*)(void** arguments, Translate translate);

namespace detail {
template <class T> T argument(void* at, Translate translate) {
    T value = *static_cast<T*>(at);
    if constexpr (std::is_pointer_v<T>)
        return static_cast<T>(translate(const_cast<void*>(static_cast<const void*>(value))));
    else
        return value;
}
}  // namespace detail

/// Unpacks cuLaunchKernel's argument array for `kernel`, translating its pointers.
template <auto kernel> struct Call;
template <class... T, void (*kernel)(T...)> struct Call<kernel> {
    static_assert(((sizeof(T) == 8) && ...), "a kernel's arguments have 8 bytes each");
    static constexpr std::size_t arguments = sizeof...(T);
    static void run(void** arguments, Translate translate) {
        unpack(arguments, translate, std::index_sequence_for<T...>{});
    }

  private:
    template <std::size_t... I>
    static void unpack(void** arguments, Translate translate, std::index_sequence<I...>) {
        kernel(detail::argument<T>(arguments[I], translate)...);
    }
};

/// Each kernel file names its kernels once: `const Add<ws_payload_fill> add{"ws_payload_fill"};`
void add(std::string name, KernelEntry entry, std::size_t arguments);
template <auto kernel> struct Add {
    explicit Add(const char* name) { add(name, &Call<kernel>::run, Call<kernel>::arguments); }
};

/// How many arguments a kernel takes, each of 8 bytes; throws Error for an unknown name.
std::size_t argument_count(std::string_view kernel);
/// What calls it; throws Error for an unknown name.
KernelEntry entry(std::string_view kernel);
/// Runs a kernel without bulk copies as one block of one lane, which waits for nobody, at once.
void run_alone(KernelEntry entry, void** arguments);

struct Launch {
    unsigned blocks = 1, lanes = 1;
    unsigned most_lanes = 1;  ///< of any launch on this device; kernels are asked for it
    /// 0: lanes run in order, and a bulk copy is done when it is waited for at last. Else the order
    /// of lanes and the moments of copies are random numbers from it.
    unsigned seed = 0;
    Translate translate = same_address;
};

/// Runs `kernel`, each block on a thread of its own, and waits for all. Throws Error for an unknown
/// name, and where lanes wait for each other for ever.
void run(std::string_view kernel, const Launch& launch, void** arguments);

}  // namespace wirespeed::cpu
