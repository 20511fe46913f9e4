// A ring by hand with MPI and OpenACC: the buffers stay on the GPU, and MPI gets their addresses
// there, or those of copies on the host ("staged").
#include <openacc.h>

#include "ring.h"

static void add(double* values, int count, double value) {
#pragma acc parallel loop present(values[0 : count])
    for (int i = 0; i < count; ++i) values[i] += value;
}

// A copy of each buffer to the GPU before all steps.
static void enter(double* first, double* second, int count) {
#pragma acc enter data copyin(first[0 : count], second[0 : count])
}

// A copy of each from it after them.
static void leave(double* last, double* other, int count) {
#pragma acc update self(last[0 : count], other[0 : count])
#pragma acc exit data delete(last[0 : count], other[0 : count])
}

static void step(struct ring* ring) {
    double *from = ring->mine, *into = ring->other;
    const int count = ring->count;
    if (ring->way == STAGED) {
#pragma acc update self(from[0 : count])
        exchange(ring, from, into);
#pragma acc update device(into[0 : count])
        ++ring->from_device;
        ++ring->to_device;
    } else {
#pragma acc host_data use_device(from, into)
        exchange(ring, from, into);
    }
    add(into, count, ring->rank + 1.0);
    swap(ring);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    struct ring ring = begin(argc, argv);
    const acc_device_t gpu = acc_device_not_host;
    const int devices = acc_get_num_devices(gpu);
    const int device = own_device(devices);
    if (devices > 0) {
        if (ring.way != TRAP) use_primary_context(device);  // before the runtime makes its own
        acc_set_device_num(device, gpu);
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
