// What both examples share: who passes a buffer to whom, the check, and what is printed.
//
// A rank's buffer holds doubles, mine[i] = rank + i % 1024. In each step every rank sends its
// buffer to the next rank, receives that of the one before, and adds rank + 1 to what came.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What MPI gets: the GPU's addresses, of memory allocated after the primary context was made
// current (DEVICE) or before any was (TRAP), or those of copies on the host.
enum way { DEVICE, STAGED, TRAP };
static const char* const ways[] = {"device", "staged", "trap"};

// Copies each way outside of the steps: both buffers to the GPU before all, and back after them.
enum { SETUP = 2 };

struct ring {
    enum way way;
    double *mine, *other;  // what is sent next, and where the next one arrives
    int count, steps, rank, ranks;
    long to_device, from_device;  // copies, those of set-up among them
};

// By the addresses it is given: the GPU's or the host's.
static void exchange(const struct ring* ring, const double* from, double* into) {
    const int after = (ring->rank + 1) % ring->ranks;
    const int before = (ring->rank + ring->ranks - 1) % ring->ranks;
    MPI_Sendrecv(from, ring->count, MPI_DOUBLE, after, 0, into, ring->count, MPI_DOUBLE, before, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void swap(struct ring* ring) {
    double* const next = ring->other;
    ring->other = ring->mine;
    ring->mine = next;
}

// MPI ranks of a host take its GPUs in turn.
static int own_device(int devices) {
    MPI_Comm host;
    int number;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &number);
    MPI_Comm_free(&host);
    return devices > 0 ? number % devices : -1;
}

// Makes the GPU's primary context current, as cudaSetDevice() and cudaFree(0) do. MPI finds
// memory that is allocated after it; without it GCC's runtime makes a context of its own. Here
// without CUDA's headers; true if there is a driver and it did so.
static int use_primary_context(int device) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    int handle;
    void* context;
    if (driver == NULL) return 0;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*get)(int*, int) = (int (*)(int*, int))dlsym(driver, "cuDeviceGet");
    int (*retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    int (*set_current)(void*) = (int (*)(void*))dlsym(driver, "cuCtxSetCurrent");
    return init(0) == 0 && get(&handle, device) == 0 && retain(&context, handle) == 0 &&
           set_current(context) == 0;
}

// What began `steps` ranks back has come by every rank in between.
static long wrong_doubles(const struct ring* ring) {
    int origin = (ring->rank + ring->ranks - ring->steps % ring->ranks) % ring->ranks;
    double grown = origin;
    for (int step = 1; step <= ring->steps; ++step) grown += (origin + step) % ring->ranks + 1;
    long wrong = 0;
    for (int i = 0; i < ring->count; ++i) wrong += ring->mine[i] != grown + i % 1024;
    return wrong;
}

// ring_NAME [device|staged|trap] [BYTES] [STEPS]; every rank has its buffers filled.
static struct ring begin(int argc, char** argv) {
    const long bytes = argc > 2 ? atol(argv[2]) : 1 << 20;
    struct ring ring = {.count = (int)(bytes / 8), .steps = argc > 3 ? atoi(argv[3]) : 1000};
    int way = 0;
    while (argc > 1 && way < 3 && strcmp(argv[1], ways[way]) != 0) ++way;
    ring.way = (enum way)way;
    MPI_Comm_rank(MPI_COMM_WORLD, &ring.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ring.ranks);
    if (way == 3 || bytes < 8 || bytes / 8 > 1 << 30 || ring.steps < 1) {
        if (ring.rank == 0)
            fprintf(stderr, "usage: %s [device|staged|trap] [BYTES, 8 to 8G] [STEPS, 1 or more]\n",
                    argv[0]);
        MPI_Finalize();
        exit(3);
    }
    ring.mine = malloc(sizeof(double) * ring.count);
    ring.other = malloc(sizeof(double) * ring.count);
    for (int i = 0; i < ring.count; ++i) ring.mine[i] = ring.rank + i % 1024;
    return ring;
}

// Prints the slowest rank's time of a step; the number of ranks with wrong sums is the exit status.
static int end(struct ring* ring, double seconds, int devices) {
    static const char* const said[] = {"device pointers", "staged",
                                       "device pointers, allocated before a context"};
    const int wrong = wrong_doubles(ring) != 0;
    double slowest;
    int all_wrong, most_devices;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&devices, &most_devices, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (ring->rank == 0)
        printf(
            "%s: %d ranks, %d bytes, %d steps: %.2f us a step, copies of a rank: %ld to the GPU, "
            "%ld from it, %d and %d of them to set up; sums %s%s\n",
            said[ring->way], ring->ranks, 8 * ring->count, ring->steps, 1e6 * slowest / ring->steps,
            ring->to_device, ring->from_device, SETUP, SETUP, all_wrong ? "WRONG" : "right",
            most_devices > 0 ? "" : " (no GPU: the CPU's memory)");
    free(ring->mine);
    free(ring->other);
    MPI_Finalize();
    return all_wrong != 0;
}
