// MPI without its headers: the calls that are timed, once for each binary interface. Open MPI's
// handles are addresses of objects; MPICH's (also Intel's, Cray's and MVAPICH's) are integers.
// tests/native holds every declaration against the real headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "libraries/table.hpp"

// clang-format off
#define WS_MPI_CALLS(CALL) \
    CALL(send, MPI_Send, int(const void*, int, Datatype, int, int, Comm)) \
    CALL(recv, MPI_Recv, int(void*, int, Datatype, int, int, Comm, Status*)) \
    CALL(isend, MPI_Isend, int(const void*, int, Datatype, int, int, Comm, Request*)) \
    CALL(irecv, MPI_Irecv, int(void*, int, Datatype, int, int, Comm, Request*)) \
    CALL(waitall, MPI_Waitall, int(int, Request*, Status*)) \
    CALL(waitsome, MPI_Waitsome, int(int, Request*, int* completed, int* indices, Status*)) \
    CALL(test, MPI_Test, int(Request*, int* done, Status*)) \
    CALL(barrier, MPI_Barrier, int(Comm)) \
    CALL(type_contiguous, MPI_Type_contiguous, int(int, Datatype, Datatype*)) \
    CALL(type_create_struct, MPI_Type_create_struct, \
         int(int, const int*, const Aint*, const Datatype*, Datatype*)) \
    CALL(type_create_hindexed_block, MPI_Type_create_hindexed_block, \
         int(int, int, const Aint*, Datatype, Datatype*)) \
    CALL(type_commit, MPI_Type_commit, int(Datatype*)) \
    CALL(type_free, MPI_Type_free, int(Datatype*)) \
    CALL(error_string, MPI_Error_string, int(int, char*, int*))

// One-sided: apart, so that an MPI without them serves all other paths.
#define WS_MPI_WINDOW_CALLS(CALL) \
    CALL(create, MPI_Win_create, int(void*, Aint bytes, int unit, Info, Comm, Win*)) \
    CALL(free, MPI_Win_free, int(Win*)) \
    CALL(set_errhandler, MPI_Win_set_errhandler, int(Win, Errhandler)) \
    CALL(lock_all, MPI_Win_lock_all, int(int assertion, Win)) \
    CALL(unlock_all, MPI_Win_unlock_all, int(Win)) \
    CALL(flush, MPI_Win_flush, int(int peer, Win)) \
    CALL(sync, MPI_Win_sync, int(Win)) \
    CALL(put, MPI_Put, int(const void*, int, Datatype, int peer, Aint at, int, Datatype, Win)) \
    CALL(get, MPI_Get, int(void*, int, Datatype, int peer, Aint at, int, Datatype, Win)) \
    CALL(fetch_and_op, MPI_Fetch_and_op, \
         int(const void*, void* result, Datatype, int peer, Aint at, Op, Win))

#define WS_MPI_COLLECTIVE_CALLS(CALL) \
    CALL(allreduce, MPI_Allreduce, int(const void*, void*, int, Datatype, Op, Comm)) \
    CALL(allgather, MPI_Allgather, int(const void*, int, Datatype, void*, int, Datatype, Comm)) \
    CALL(reducescatter, MPI_Reduce_scatter_block, int(const void*, void*, int, Datatype, Op, Comm)) \
    CALL(alltoall, MPI_Alltoall, int(const void*, int, Datatype, void*, int, Datatype, Comm)) \
    CALL(broadcast, MPI_Bcast, int(void*, int, Datatype, int root, Comm)) \
    CALL(reduce, MPI_Reduce, int(const void*, void*, int, Datatype, Op, int root, Comm)) \
    CALL(barrier, MPI_Barrier, int(Comm))
// clang-format on

namespace wirespeed::mpi {

constexpr int success = 0;
constexpr int max_error_string = 1024;  ///< at least as long as every library's
using Aint = std::ptrdiff_t;

struct OpenMpiAbi {
    static constexpr const char* name = "openmpi";
    using Comm = void*;
    using Datatype = void*;
    using Request = void*;
    using Status = void;
    using Win = void*;
    using Info = void*;
    using Errhandler = void*;
    using Op = void*;
    static constexpr int mode_nocheck = 1, err_win = 53;
    static Comm comm(std::uint64_t handle) { return reinterpret_cast<Comm>(handle); }
    static Datatype byte(const Library& library) { return library.symbol("ompi_mpi_byte"); }
    static Info info_null(const Library& library) { return library.symbol("ompi_mpi_info_null"); }
    static Errhandler errors_return(const Library& library) {
        return library.symbol("ompi_mpi_errors_return");
    }
    static Datatype fp32(const Library& library) { return library.symbol("ompi_mpi_float"); }
    static Datatype fp64(const Library& library) { return library.symbol("ompi_mpi_double"); }
    static Datatype int32(const Library& library) { return library.symbol("ompi_mpi_int"); }
    static Datatype int64(const Library& library) { return library.symbol("ompi_mpi_int64_t"); }
    static Op sum(const Library& library) { return library.symbol("ompi_mpi_op_sum"); }
    static Op max(const Library& library) { return library.symbol("ompi_mpi_op_max"); }
    static Op min(const Library& library) { return library.symbol("ompi_mpi_op_min"); }
    static void* in_place() { return reinterpret_cast<void*>(1); }
    static Status* status_ignore() { return nullptr; }
    static Status* statuses_ignore() { return nullptr; }
};

struct MpichAbi {
    static constexpr const char* name = "mpich";
    using Comm = int;
    using Datatype = int;
    using Request = int;
    using Status = void;
    using Win = int;
    using Info = int;
    using Errhandler = int;
    using Op = int;
    static constexpr Datatype byte_handle = 0x4c00010d;
    static constexpr Info info_null_handle = 0x1c000000;
    static constexpr Errhandler errors_return_handle = 0x54000001;
    static constexpr Datatype fp32_handle = 0x4c00040a, fp64_handle = 0x4c00080b;
    static constexpr Datatype int32_handle = 0x4c000405, int64_handle = 0x4c00083a;
    static constexpr Op max_handle = 0x58000001, min_handle = 0x58000002, sum_handle = 0x58000003;
    static constexpr int mode_nocheck = 1024, err_win = 45;
    static Comm comm(std::uint64_t handle) { return static_cast<Comm>(handle); }
    static Datatype byte(const Library&) { return byte_handle; }
    static Info info_null(const Library&) { return info_null_handle; }
    static Errhandler errors_return(const Library&) { return errors_return_handle; }
    static Datatype fp32(const Library&) { return fp32_handle; }
    static Datatype fp64(const Library&) { return fp64_handle; }
    static Datatype int32(const Library&) { return int32_handle; }
    static Datatype int64(const Library&) { return int64_handle; }
    static Op sum(const Library&) { return sum_handle; }
    static Op max(const Library&) { return max_handle; }
    static Op min(const Library&) { return min_handle; }
    static void* in_place() { return reinterpret_cast<void*>(-1); }
    static Status* status_ignore() { return reinterpret_cast<Status*>(1); }
    static Status* statuses_ignore() { return reinterpret_cast<Status*>(1); }
};

/// The table of calls of one interface, taken from the library that mpi4py joined the world with.
template <class Abi> struct Calls {
    using Comm = typename Abi::Comm;
    using Datatype = typename Abi::Datatype;
    using Request = typename Abi::Request;
    using Status = typename Abi::Status;

    WS_MPI_CALLS(WS_TABLE_MEMBER)
    Datatype byte;

    explicit Calls(const Library& library) : byte(Abi::byte(library)) {
        WS_MPI_CALLS(WS_TABLE_BIND)
    }

    /// Throws Error with the library's own text unless `code` says success.
    void check(int code, const char* call, const std::string& arguments = {}) const;
};

/// The calls of one-sided communication.
template <class Abi> struct WindowCalls {
    using Comm = typename Abi::Comm;
    using Datatype = typename Abi::Datatype;
    using Win = typename Abi::Win;
    using Info = typename Abi::Info;
    using Errhandler = typename Abi::Errhandler;
    using Op = typename Abi::Op;

    WS_MPI_WINDOW_CALLS(WS_TABLE_MEMBER)
    Info info_null;
    Errhandler errors_return;
    Datatype int64;
    Op sum;

    explicit WindowCalls(const Library& library)
        : info_null(Abi::info_null(library)), errors_return(Abi::errors_return(library)),
          int64(Abi::int64(library)), sum(Abi::sum(library)) {
        WS_MPI_WINDOW_CALLS(WS_TABLE_BIND)
    }
};

/// The calls of operations of all ranks, with what they compute on.
template <class Abi> struct CollectiveCalls {
    using Comm = typename Abi::Comm;
    using Datatype = typename Abi::Datatype;
    using Op = typename Abi::Op;

    WS_MPI_COLLECTIVE_CALLS(WS_TABLE_MEMBER)
    Datatype fp32, fp64, int32;
    Op sum, max, min;

    explicit CollectiveCalls(const Library& library)
        : fp32(Abi::fp32(library)), fp64(Abi::fp64(library)), int32(Abi::int32(library)),
          sum(Abi::sum(library)), max(Abi::max(library)), min(Abi::min(library)) {
        WS_MPI_COLLECTIVE_CALLS(WS_TABLE_BIND)
    }
};

/// Is this library Open MPI's interface, rather than MPICH's?
inline bool is_openmpi(const Library& library) { return library.find("ompi_mpi_byte") != nullptr; }

}  // namespace wirespeed::mpi
