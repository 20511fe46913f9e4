// For tests alone: an MPI that takes the emulated GPU's pointers. It stands before a real libmpi
// and replaces addresses of emulated device memory by the accessible ones; a real GPU-aware MPI
// asks the driver what a pointer is, this one asks /proc/self/maps.
//
//   g++ -shared -fPIC -DHANDLE='void*' aware_mpi.cpp -o libmpi.so.40 /real/libmpi.so.40 -ldl (Open
//   MPI) g++ -shared -fPIC -DHANDLE=int     aware_mpi.cpp -o libmpi.so.12 /real/libmpi.so.12 -ldl
//   (MPICH)
#include <dlfcn.h>

#include <cstddef>

#include "emulated_memory.hpp"

namespace {

using emulated_memory::view;

template <class Function> Function* real(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int MPI_Send(const void* from, int count, HANDLE type, int peer, int tag, HANDLE comm) {
    static auto* next = real<int(const void*, int, HANDLE, int, int, HANDLE)>("MPI_Send");
    return next(view(from), count, type, peer, tag, comm);
}

int MPI_Recv(void* to, int count, HANDLE type, int peer, int tag, HANDLE comm, void* status) {
    static auto* next = real<int(void*, int, HANDLE, int, int, HANDLE, void*)>("MPI_Recv");
    return next(view(to), count, type, peer, tag, comm, status);
}

int MPI_Isend(const void* from, int count, HANDLE type, int peer, int tag, HANDLE comm,
              HANDLE* request) {
    static auto* next = real<int(const void*, int, HANDLE, int, int, HANDLE, HANDLE*)>("MPI_Isend");
    return next(view(from), count, type, peer, tag, comm, request);
}

int MPI_Irecv(void* to, int count, HANDLE type, int peer, int tag, HANDLE comm, HANDLE* request) {
    static auto* next = real<int(void*, int, HANDLE, int, int, HANDLE, HANDLE*)>("MPI_Irecv");
    return next(view(to), count, type, peer, tag, comm, request);
}

int MPI_Win_create(void* base, std::ptrdiff_t bytes, int unit, HANDLE info, HANDLE comm,
                   HANDLE* window) {
    static auto* next =
        real<int(void*, std::ptrdiff_t, int, HANDLE, HANDLE, HANDLE*)>("MPI_Win_create");
    return next(view(base), bytes, unit, info, comm, window);
}

int MPI_Put(const void* from, int count, HANDLE type, int peer, std::ptrdiff_t at, int there,
            HANDLE type_there, HANDLE window) {
    static auto* next =
        real<int(const void*, int, HANDLE, int, std::ptrdiff_t, int, HANDLE, HANDLE)>("MPI_Put");
    return next(view(from), count, type, peer, at, there, type_there, window);
}

int MPI_Get(void* to, int count, HANDLE type, int peer, std::ptrdiff_t at, int there,
            HANDLE type_there, HANDLE window) {
    static auto* next =
        real<int(void*, int, HANDLE, int, std::ptrdiff_t, int, HANDLE, HANDLE)>("MPI_Get");
    return next(view(to), count, type, peer, at, there, type_there, window);
}
}
