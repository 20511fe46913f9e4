/* The measuring core's C interface. Python reads this very file (cffi, ABI mode), without its
 * preprocessor lines.
 *
 * Functions that can fail return 0 on success and -1 (or null) on failure; ws_error() then gives
 * the calling thread's last error as one line of text. Times are in seconds, sizes in bytes.
 *
 * Strings: what a function returns as const char* lies in memory of the calling thread and holds
 * until that thread's next call that returns such a string (ws_error()'s: until its next call that
 * fails). Nobody frees it. Strings given are copied.
 *
 * Handles: what a function called ..._open returns belongs to the caller, who ends it with exactly
 * one call of ..._close or ..._abandon, whatever that call returns. What a handle was made from
 * (page, device, control, transport, buffers, links) must outlive it.
 *
 * Collective functions say so: every rank of the transport calls them, in the same order, and they
 * may wait for the others. All other functions concern this rank alone. */
#ifndef WIRESPEED_H
#define WIRESPEED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

const char* ws_error(void);
/* Was the calling thread's last error that the machine lacks something (1), or another one (0)? */
int ws_error_is_lack(void);

double ws_clock_cost(void);
double ws_clock_resolution(void);

/* Where the library called name ("cuda", "nvrtc", "hip", ...) lies; tried before its usual names.
 */
void ws_library_path(const char* name, const char* path);

/* The command, ended by a null word, that compiles kernels in a process of its own where a compiler
 * may end its process. It gets a unit's name and a GPU's architecture as further words, and writes
 * to standard output the code, or the error with exit code 3. Without it this process compiles. */
void ws_kernel_compiler(const char* const* command);
/* The code of a unit of kernels ("data", or a program's name, say) for "sm_90" or
 * "gfx90a", made in this process. It holds as a string does. */
const void* ws_kernel_code(const char* unit, const char* architecture, uint64_t* bytes);

/* ---- named ranges, for a profiler that is attached ----------------------------------------------
 */
/* Looks for profilers, once, and tells them the calling thread's name. JSON: those that hear
 * ranges, of "nvtx" and "roctx". */
const char* ws_ranges_open(const char* thread);
/* Ranges of the calling thread; they nest. */
void ws_range_push(const char* name);
void ws_range_pop(void);

/* ---- status page, watchdog, crashes -------------------------------------------------------------
 */
typedef struct ws_page ws_page;
/* A page of this rank in a file that others may map; in private memory for the file "". It stays
 * for the process's life: a crash or a hang may be reported at any moment. */
ws_page* ws_page_open(const char* file, int rank);
/* What the rank is about, and after how many seconds without progress it counts as stuck (0:
 * never).
 */
void ws_page_stage(ws_page* page, const char* path, uint64_t bytes, double timeout);
/* Installs the handlers that write the faulting function into the page and one JSON line to
 * report_fd (give_up: text to stderr as well). Call it again after a library has put its own
 * handlers in place. */
int ws_page_catch_crashes(ws_page* page, int report_fd, int give_up);
/* Starts the thread that reports (one JSON line on report_fd) when the page shows no progress for
 * its timeout. python_stack names a file that the signal ws_stack_signal() makes Python write its
 * stack to. give_up: end the process (exit code 75) after the report and a grace of 2 s, and with
 * it what it maps of /dev/shm by these names (patterns of a shell, one a line); NULL: go on. */
int ws_watchdog_start(ws_page* page, int report_fd, const char* python_stack, const char* give_up);
int ws_stack_signal(void);

/* ---- devices ------------------------------------------------------------------------------------
 */
typedef struct ws_device ws_device;
/* How many devices of a kind ("host", "emulated", "cuda", "hip") there are; -1: none can be used,
 * ws_error() says why. */
int ws_device_count(const char* kind);
/* So many emulated GPUs there are, unless WIRESPEED_EMULATED says how many; without this call 2. */
void ws_emulated_devices(int count);
/* Takes what the device is used with (CUDA's primary context) until it is closed. allocator: who
 * hands out the memory of buffers, "driver", "pool", "vmm", "openmp", "openmp:map", "openacc" or
 * "openacc:map"; own_context: it does so before any context is current, and the device is used by
 * the one that it leaves. */
ws_device* ws_device_open(const char* kind, int index, const char* allocator, int own_context);
void ws_device_close(ws_device* device);
/* JSON: {"kind", "index", "name", "id", "pci", "architecture", "driver", "bytes"}; the second one
 * opens nothing. */
const char* ws_device_identity(ws_device* device);
const char* ws_device_identity_of(const char* kind, int index);
/* JSON: what the driver says of an address: {"memory": "device", "host", "managed" or
 * "unregistered", "context": "primary", "own" or "none", "device", "ipc", "rdma", "library"}, null
 * where it says nothing. */
const char* ws_device_pointer(ws_device* device, const void* address);
/* Several threads may share the untimed work on much host memory, which is to allocate, fill and
 * check it: as many as the CPUs of the caller's NUMA node are for each of `processes` processes of
 * this host, and no more than `most`. They may run on all of these CPUs, however the caller is
 * bound, and have ended when the function returns. Until this is called there is one thread. */
void ws_share_node(int processes, int most);
/* memory: "pageable", "pinned", "device", "managed" or "managed-host", here and below. */
int ws_device_fill(ws_device* device, const char* memory, void* to, uint64_t bytes, uint64_t seed,
                   int tag);
/* first_wrong: offset of the first byte that differs from the content; bytes if none does. */
int ws_device_check(ws_device* device, const char* memory, const void* from, uint64_t bytes,
                    uint64_t seed, int tag, uint64_t* first_wrong);

/* A piece of a pool of memory, in bytes: its place, where in the content it begins, its length. */
typedef struct ws_piece {
    uint64_t at, content, bytes;
} ws_piece;
/* The same of many pieces; first_wrong: the place in the pool of the first byte that differs, or
 * the largest number. */
int ws_device_fill_pieces(ws_device* device, const char* memory, void* pool, const ws_piece* pieces,
                          uint64_t count, uint64_t seed, int tag);
int ws_device_check_pieces(ws_device* device, const char* memory, const void* pool,
                           const ws_piece* pieces, uint64_t count, uint64_t seed, int tag,
                           uint64_t* first_wrong);

/* Copies between any two kinds of memory of this host, and waits for it. */
int ws_device_copy(ws_device* device, void* to, const void* from, uint64_t bytes);
/* Makes a kernel ready, and all that are compiled with it: that may take seconds. */
int ws_device_load(ws_device* device, const char* kernel);
/* Runs a kernel of this library and waits for it; arguments as of ws_work, addresses as they are.
 * The CPU runs it where memory is the host's. */
int ws_device_launch(ws_device* device, const char* memory, const char* kernel, uint32_t blocks,
                     uint32_t threads, const uint64_t* arguments, uint32_t count);

/* Doubles start, start + 1, ... start + 1023, start, ...; first_wrong: the number of the first
 * double that is another one; bytes / 8 if none is. */
int ws_device_fill_sums(ws_device* device, const char* memory, void* to, uint64_t bytes,
                        double start);
int ws_device_check_sums(ws_device* device, const char* memory, const void* from, uint64_t bytes,
                         double start, uint64_t* first_wrong);

/* Counts the process's copies by kind from zero on (1), or no more (0). */
int ws_device_watch_copies(ws_device* device, int on);
/* JSON: {"host_to_device": {"count", "bytes"}, "device_to_host", "on_device", "peer"} */
const char* ws_device_copies(ws_device* device);

/* ---- control ------------------------------------------------------------------------------------
 */
/* Set-up traffic, by whatever started the ranks. Each function is collective, gets `user` as
 * it was given, and returns 0, or another value to make the core's call fail. The core calls them
 * in the thread that called it, and only inside collective functions. */
typedef struct ws_control {
    int rank, size;
    void* user;
    int (*allgather)(void* user, const void* mine, void* all, uint64_t bytes_each);
    int (*broadcast)(void* user, void* data, uint64_t bytes, int root);
    int (*barrier)(void* user);
    /* TCP connections to these ranks, which ask for this one in the same call; other ranks ask for
     * none. Puts a descriptor for each, which belongs to the core from then on. */
    int (*connect)(void* user, const int* peers, int count, int* descriptors);
} ws_control;

/* ---- MPI ----------------------------------------------------------------------------------------
 */
/* Takes the timed calls from the libmpi at path (already loaded by mpi4py). communicator is the raw
 * handle: an address under Open MPI's ABI, an int under MPICH's. */
int ws_mpi_open(const char* path, uint64_t communicator);

/* ---- transports ---------------------------------------------------------------------------------
 */
typedef struct ws_transport ws_transport;
/* Collective. options: "key=value;key=value". The control struct is copied. */
ws_transport* ws_transport_open(const char* name, const char* options, const ws_control* control,
                                ws_device* device, ws_page* page);
/* Collective: the orderly end, after all programs and buffers. */
int ws_transport_close(ws_transport* transport);
/* Collective. The same, but what takes long to join the ranks by (NCCL's communicator) stays for
 * the next transport of the same kind, ranks, device and settings, unless something has failed over
 * it on some rank. The device must outlive it, too. */
int ws_transport_close_keeping(ws_transport* transport);
/* Collective. The orderly end of what stayed and was not taken; nothing where nothing is there. */
int ws_kept_close(ws_page* page);
/* The end on this rank alone, where others may be gone: communicates nothing, and leaves what a
 * peer may have mapped. */
void ws_transport_abandon(ws_transport* transport);
/* What the transport chose, as a JSON object. */
const char* ws_transport_describe(ws_transport* transport);

/* A send and a receive buffer of the same kind and size. */
typedef struct ws_buffers ws_buffers;
/* Collective. */
ws_buffers* ws_buffers_open(ws_transport* transport, const char* memory, uint64_t bytes);
/* 1: a transfer may lie in any allocation of this rank; 0: the transport has to know its buffers
 * beforehand. */
int ws_transport_by_address(ws_transport* transport);
/* Collective. The same, but each of the two consists of `count` allocations of these bytes. Only
 * where a transfer may lie anywhere. places: where each allocation begins,
 * from the address that ws_buffers_send returns, then from ws_buffers_receive's; a transfer may lie
 * in any of them. */
ws_buffers* ws_buffers_open_parts(ws_transport* transport, const char* memory,
                                  const uint64_t* bytes, uint64_t count, uint64_t* places);
/* Collective: the memory is freed when no peer has it open any more. */
int ws_buffers_close(ws_buffers* buffers);
/* On this rank alone, as ws_transport_abandon. */
void ws_buffers_abandon(ws_buffers* buffers);
/* Addresses that hold as long as the buffers do. */
void* ws_buffers_send(ws_buffers* buffers);
void* ws_buffers_receive(ws_buffers* buffers);

/* ---- programs -----------------------------------------------------------------------------------
 */
/* One transfer of a pattern, seen from this rank. Steps count from 0 and never go back from one
 * transfer to the next. */
typedef struct ws_transfer {
    int32_t step;
    int32_t receives; /* 0: this rank sends to peer; 1: it receives from peer */
    int32_t peer;
    int32_t back; /* 1: inside this rank, from its receive buffer to its send buffer */
    uint64_t offset, bytes;
    uint64_t remote_offset; /* in the peer's receive buffer (of a send) or send buffer */
    int32_t list; /* neighbours in a step with the same number are blocks of one list; 0: of none */
} ws_transfer;

typedef struct ws_program ws_program;
/* Work of a step on this rank's own device: a kernel of this library. */
typedef struct ws_work {
    int32_t step;
    int32_t when; /* 0: after all that the step receives; 1: meanwhile; 2: in place of both
                     where the transport can order kernels by flags: argument 0 is the gate */
    const char* kernel;
    uint32_t blocks, threads;  /* a CPU runs it as one block of one thread */
    uint32_t count;            /* of arguments */
    uint32_t places;           /* bit i: argument i counts from the receive buffer's start */
    const uint64_t* arguments; /* of 8 bytes each: addresses, whole numbers, doubles */
} ws_work;

/* Collective. Refuses what does not fit: a step that goes back, a peer that there is not, a
 * place outside of the buffers, a kernel that there is not. Every rank has work in the same steps.
 * flags: 1, the send buffer is the receive buffer too, as in a
 * ping-pong of one buffer; 2, each sample begins with a barrier of all ranks, where the transport's
 * programs can; 4, no rank has transfers, only work: no transport takes part. */
ws_program* ws_program_open(ws_transport* transport, ws_buffers* buffers,
                            const ws_transfer* transfers, uint64_t count, const ws_work* work,
                            uint64_t work_count, int flags);
/* An operation of all ranks, in the send buffer. Numbers: operation 0 all-reduce, 1 all-gather,
 * 2 reduce-scatter, 3 all-to-all, 4 broadcast, 5 reduce, 6 barrier; type 0 fp32, 1 fp16, 2 bf16,
 * 3 fp64, 4 int32; reduction 0 sum, 1 max, 2 min. */
typedef struct ws_collective {
    int32_t operation, type, reduction, root;
    int32_t gets; /* 0: this rank gets no result (the root of a broadcast, others of a reduce) */
    int32_t in_place;  /* 1: the library is told so */
    uint64_t count;    /* elements of a rank's block; of all where every rank has all */
    uint64_t from, to; /* where this rank's own data lie, and its results */
    uint64_t from_bytes, to_bytes;
} ws_collective;
/* Collective. The library's own operation; fails where this transport has none. flags: 2, as above.
 */
ws_program* ws_collective_open(ws_transport* transport, ws_buffers* buffers,
                               const ws_collective* collective, int flags);
void ws_program_close(ws_program* program);
/* Collective. Runs so many iterations, of which none is a figure; seconds: about what one took. */
int ws_program_run(ws_program* program, int iterations, double* seconds);
/* What the program's clock and the host's make of a batch, in seconds. */
typedef struct ws_batch_clocks {
    double host, stamped;
    int verdict; /* 0: they agree; 1: the program's counts too much; 2: it counts too little */
} ws_batch_clocks;
/* Collective. Runs untimed iterations, one at least, then samples x iterations_per_sample
 * iterations, without interruption; seconds[i]: sample i per iteration. */
int ws_program_sample(ws_program* program, int untimed, int iterations_per_sample, int samples,
                      double* seconds, ws_batch_clocks* clocks);
/* How its samples began that a barrier precedes, since the last call of this function, as JSON:
 * {"by": "agreed time", "MPI_Barrier" or "dissemination", "samples": how many are counted here,
 * "skew_s": the median over them of how late the last rank of this host began, "skew_max_s": the
 * largest, "why": why ranks could not share memory}; {} where none began so. The first rank of each
 * host counts, once all ranks have met after ws_program_sample; the others count 0 samples. */
const char* ws_program_start(ws_program* program);
/* The clock that stamps its samples, in seconds: what a reading costs, and its smallest step. */
int ws_program_clock(ws_program* program, double* cost, double* resolution);
/* What was chosen for this program, as a JSON object. */
const char* ws_program_describe(ws_program* program);

/* ---- soaks --------------------------------------------------------------------------------------
 */
/* Iterations whose messages each have a content of their own, all of which is checked while the
 * next transfers run. */
typedef struct ws_soak ws_soak;
/* Collective. The transfers of an iteration. Five iterations take turns in places that lie `apart`
 * bytes from each other, the same on all ranks: buffers hold five times as much. timed: a program
 * of these transfers; they go as its do, where that can be checked. fault: what is
 * planted in one message of `every`, "damaged", "late", "stale", "lost", "unseen" (by the check) or
 * "beyond" (a byte behind it is written); "": nothing. */
ws_soak* ws_soak_open(ws_transport* transport, ws_buffers* buffers, const ws_transfer* transfers,
                      uint64_t count, uint64_t apart, const ws_program* timed, const char* fault,
                      uint64_t every);
void ws_soak_close(ws_soak* soak);
/* Collective. So many rounds of five iterations without interruption; seconds: about what an
 * iteration took. */
int ws_soak_run(ws_soak* soak, int rounds, double* seconds);
/* Collective, the last call. One more round without planted faults: all messages have their verdict
 * then. */
int ws_soak_settle(ws_soak* soak);
typedef struct ws_soak_counts {
    uint64_t iterations;
    uint64_t checked;  /* messages that this rank has received and that have a verdict */
    uint64_t kinds[4]; /* wrong ones: damaged, late, stale, lost */
    uint64_t planted;
    int32_t sender, kind; /* of the first wrong one, if there is any; so is what follows */
    uint64_t iteration, offset;
    uint64_t lag; /* iterations that a stale one is old */
    uint64_t expected, found;
} ws_soak_counts;
int ws_soak_count(ws_soak* soak, ws_soak_counts* counts);
/* What was chosen for its program, as a JSON object. */
const char* ws_soak_describe(ws_soak* soak);

#ifdef __cplusplus
}
#endif

#endif
