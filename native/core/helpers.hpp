// Untimed work on much host memory, done by several threads of one NUMA node. They are started for
// a piece of work and have ended when it is done, so that none of them disturbs what is timed.
#pragma once

#include <cstddef>
#include <functional>
#include <future>

namespace wirespeed {

/// So many processes (at least one) share the node's CPUs, and none uses more than `most` threads.
/// Until it is called, each caller works alone.
void share_node(unsigned processes, unsigned most);

/// Calls work(threads) in another thread, which shares it with more of them; not valid where that
/// would be the only one: nothing was done then. get() throws std::system_error where one of them
/// could not be started.
std::future<void> beside(std::size_t bytes, std::function<void(unsigned threads)> work);

/// Calls work(threads) and waits for it: with 1 in the calling thread, with more in another one.
/// Threads that it starts then may use all CPUs of the caller's NUMA node, where launchers have
/// bound the caller to one of them. What it cannot start for (std::system_error) is begun anew with
/// 1; all other exceptions are the caller's.
void with_helpers(std::size_t bytes, const std::function<void(unsigned threads)>& work);

/// As memset.
void write_bytes(void* address, int value, std::size_t bytes);

}  // namespace wirespeed
