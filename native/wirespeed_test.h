/* What only wirespeed's own tests call: the same library exports it, and wirespeed.h's conventions
 * hold. Nothing here is promised to other programs. */
#ifndef WIRESPEED_TEST_H
#define WIRESPEED_TEST_H

#include "wirespeed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ------------------------------------------------------------------------------------
 */
/* As buffers are allocated. The address is the caller's until ws_device_release. */
void* ws_device_allocate(ws_device* device, const char* memory, uint64_t bytes);
void ws_device_release(ws_device* device, const char* memory, void* address);
/* Fills a handle with which another process can open the allocation; that process closes the
 * address before the owner releases its own. */
int ws_device_share(ws_device* device, void* address, void* handle_128_bytes);
void* ws_device_open_shared(ws_device* device, const void* handle_128_bytes);
int ws_device_close_shared(ws_device* device, void* address);

/* ---- kernels ------------------------------------------------------------------------------------
 */
/* The source text with this kernel, as run-time compilers get it. It stays for the process's life.
 */
const char* ws_kernel_source(const char* kernel);
/* Compiles it for "sm_90" (NVRTC) or "gfx90a" (hipRTC) without needing a device; the code's size.
 */
int64_t ws_kernel_compile(const char* architecture);

/* ---- fault injection ----------------------------------------------------------------------------
 */
/* From now on the program damages what it received, as a faulty transport would. fault:
 * "drop-byte", "drop-iteration", "repeat-iteration"; in timed batches alone "batch-lost",
 * "batch-stale", "batch-damaged", "batch-short"; or its samples are stamped wrongly:
 * "fast-clock", "slow-clock", "early-stamp", "lost-work". */
int ws_program_inject_fault(ws_program* program, const char* fault);
/* The same for results of `bytes` bytes at `begin` of the receive buffer; also "drop-element",
 * "repeat-element", "swap-elements", of `element` bytes each; "batch-word": no fault, the word
 * there says whether a batch runs. */
int ws_program_inject_fault_at(ws_program* program, const char* fault, uint64_t begin,
                               uint64_t bytes, uint64_t element);

#ifdef __cplusplus
}
#endif

#endif
