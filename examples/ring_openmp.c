// A ring by hand with MPI and OpenMP: the buffers stay on the GPU, and MPI gets their addresses
// there, or those of copies on the host ("staged").
#include <omp.h>

#include "ring.h"

static void add(double* values, int count, double value) {
#pragma omp target teams distribute parallel for map(alloc : values[0 : count])
    for (int i = 0; i < count; ++i) values[i] += value;
}

// A copy of each buffer to the GPU before all steps.
static void enter(double* first, double* second, int count) {
#pragma omp target enter data map(to : first[0 : count], second[0 : count])
}

// A copy of each from it after them.
static void leave(double* last, double* other, int count) {
#pragma omp target update from(last[0 : count], other[0 : count])
#pragma omp target exit data map(delete : last[0 : count], other[0 : count])
}

static void step(struct ring* ring) {
    double *from = ring->mine, *into = ring->other;
    const int count = ring->count;
    if (ring->way == STAGED) {
#pragma omp target update from(from[0 : count])
        exchange(ring, from, into);
#pragma omp target update to(into[0 : count])
        ++ring->from_device;
        ++ring->to_device;
    } else {
        // This clause is for pointers; an array takes use_device_addr.
#pragma omp target data use_device_ptr(from, into)
        exchange(ring, from, into);
    }
    add(into, count, ring->rank + 1.0);
    swap(ring);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    struct ring ring = begin(argc, argv);
    const int devices = omp_get_num_devices();
    const int device = own_device(devices);
    if (devices > 0) {
        if (ring.way != TRAP) use_primary_context(device);  // before the runtime makes its own
        omp_set_default_device(device);
    }

    enter(ring.mine, ring.other, ring.count);
    ring.to_device += SETUP;
    add(ring.mine, ring.count, 0);  // loads the kernel
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int i = 0; i < ring.steps; ++i) step(&ring);
    const double seconds = MPI_Wtime() - begun;
    leave(ring.mine, ring.other, ring.count);
    ring.from_device += SETUP;
    return end(&ring, seconds, devices);
}
