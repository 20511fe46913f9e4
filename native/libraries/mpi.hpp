// MPI without its headers: the calls that are timed, once for each binary interface. Open MPI's
// handles are addresses of objects; MPICH's (also Intel's, Cray's and MVAPICH's) are integers.
// tests/native holds every declaration against the real headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libraries/library.hpp"

namespace wirespeed::mpi {

constexpr int success = 0;
constexpr int max_error_string = 1024;  ///< at least as long as every library's
using Aint = std::ptrdiff_t;

struct OpenMpi {
    static constexpr const char* name = "openmpi";
    using Comm = void*;
    using Datatype = void*;
    using Request = void*;
    using Status = void;
    static Comm comm(std::uint64_t handle) { return reinterpret_cast<Comm>(handle); }
    static Datatype byte(const Library& library) { return library.symbol("ompi_mpi_byte"); }
    static Status* status_ignore() { return nullptr; }
    static Status* statuses_ignore() { return nullptr; }
};

struct Mpich {
    static constexpr const char* name = "mpich";
    using Comm = int;
    using Datatype = int;
    using Request = int;
    using Status = void;
    static constexpr Datatype byte_handle = 0x4c00010d;
    static Comm comm(std::uint64_t handle) { return static_cast<Comm>(handle); }
    static Datatype byte(const Library&) { return byte_handle; }
    static Status* status_ignore() { return reinterpret_cast<Status*>(1); }
    static Status* statuses_ignore() { return reinterpret_cast<Status*>(1); }
};

/// The table of calls of one interface, taken from the library that mpi4py joined the world with.
template <class Abi> struct Calls {
    using Comm = typename Abi::Comm;
    using Datatype = typename Abi::Datatype;
    using Request = typename Abi::Request;
    using Status = typename Abi::Status;

    int (*send)(const void*, int, Datatype, int, int, Comm);
    int (*recv)(void*, int, Datatype, int, int, Comm, Status*);
    int (*isend)(const void*, int, Datatype, int, int, Comm, Request*);
    int (*irecv)(void*, int, Datatype, int, int, Comm, Request*);
    int (*waitall)(int, Request*, Status*);
    int (*test)(Request*, int*, Status*);
    int (*barrier)(Comm);
    int (*type_contiguous)(int, Datatype, Datatype*);
    int (*type_create_struct)(int, const int*, const Aint*, const Datatype*, Datatype*);
    int (*type_commit)(Datatype*);
    int (*type_free)(Datatype*);
    int (*error_string)(int, char*, int*);
    Datatype byte;

    explicit Calls(const Library& library) : byte(Abi::byte(library)) {
        library.bind(send, "MPI_Send");
        library.bind(recv, "MPI_Recv");
        library.bind(isend, "MPI_Isend");
        library.bind(irecv, "MPI_Irecv");
        library.bind(waitall, "MPI_Waitall");
        library.bind(test, "MPI_Test");
        library.bind(barrier, "MPI_Barrier");
        library.bind(type_contiguous, "MPI_Type_contiguous");
        library.bind(type_create_struct, "MPI_Type_create_struct");
        library.bind(type_commit, "MPI_Type_commit");
        library.bind(type_free, "MPI_Type_free");
        library.bind(error_string, "MPI_Error_string");
    }

    /// Throws Error with the library's own text unless `code` says success.
    void check(int code, const char* call, const std::string& arguments = {}) const;
};

/// Is this library Open MPI's interface, rather than MPICH's?
inline bool is_openmpi(const Library& library) { return library.find("ompi_mpi_byte") != nullptr; }

}  // namespace wirespeed::mpi
