/* The plainest ping-pong there is, to hold ours against: a loop of MPI_Send and MPI_Recv, timed as
 * a whole with the clock read before and after. Returns seconds of one iteration. */
#include <mpi.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bare_pingpong(void* send, void* receive, int bytes, int iterations) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    for (int i = 0; i < iterations; ++i) {
        if (rank == 0) {
            MPI_Send(send, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(receive, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(receive, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(send, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return (now() - start) / iterations;
}
