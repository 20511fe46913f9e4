// An MPI that says of a long message too early that it has been sent: its wait for the send is back
// at once, and the next send waits in its place. In front of a real one; HANDLE is its handles'
// type.
#include <dlfcn.h>

namespace {

template <class Function> Function* real(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

constexpr int long_message = 1 << 20;
HANDLE under_way{};
bool is_under_way = false;

}  // namespace

extern "C" {

int MPI_Isend(const void* from, int count, HANDLE type, int peer, int tag, HANDLE comm,
              HANDLE* request) {
    static auto* next = real<int(const void*, int, HANDLE, int, int, HANDLE, HANDLE*)>("MPI_Isend");
    static auto* wait = real<int(HANDLE*, void*)>("MPI_Wait");
    char status[64];
    if (is_under_way) wait(&under_way, status);
    const int code = next(from, count, type, peer, tag, comm, request);
    is_under_way = count >= long_message;
    under_way = *request;
    return code;
}

int MPI_Waitall(int count, HANDLE* requests, void* statuses) {
    static auto* next = real<int(int, HANDLE*, void*)>("MPI_Waitall");
    if (count == 1 && is_under_way && requests[0] == under_way) return 0;
    return next(count, requests, statuses);
}

}  // extern "C"
