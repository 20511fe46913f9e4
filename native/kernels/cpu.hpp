// Runs the kernels' source text on the CPU: a block is one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace wirespeed::cpu {

/// Turns a pointer as its owner sees it into one that the CPU may follow.
using Translate = void* (*)(void*);
inline void* same_address(void* address) { return address; }

struct Grid {
    unsigned long long block = 0, blocks = 1;
    Translate translate = same_address;
};
inline thread_local Grid grid;

using Entry = void (*)(void** arguments, Translate translate);

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
void add(std::string name, Entry entry, std::size_t arguments);
template <auto kernel> struct Add {
    explicit Add(const char* name) { add(name, &Call<kernel>::run, Call<kernel>::arguments); }
};

/// How many arguments a kernel takes, each of 8 bytes; throws Error for an unknown name.
std::size_t argument_count(std::string_view kernel);

/// Runs `kernel` on `blocks` threads and waits for all; throws Error for an unknown name.
void run(std::string_view kernel, unsigned blocks, void** arguments, Translate translate);

}  // namespace wirespeed::cpu
