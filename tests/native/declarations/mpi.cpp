// Compiled, not linked, once with each MPI's mpi.h: fails to compile where libraries/mpi.hpp
// differs from it. ABI is OpenMpiAbi or MpichAbi.
#include <mpi.h>

#include <string_view>

#include "abi.hpp"
#include "libraries/mpi.hpp"

namespace mpi = wirespeed::mpi;
using mpi::ABI;

#define HOLD_CALL(member, symbol, ...) HOLD(decltype(mpi::Calls<ABI>::member), symbol)
WS_MPI_CALLS(HOLD_CALL)
#define HOLD_WINDOW_CALL(member, symbol, ...) HOLD(decltype(mpi::WindowCalls<ABI>::member), symbol)
WS_MPI_WINDOW_CALLS(HOLD_WINDOW_CALL)

#define HOLD_COLLECTIVE(member, symbol, ...) \
    HOLD(decltype(mpi::CollectiveCalls<ABI>::member), symbol)
WS_MPI_COLLECTIVE_CALLS(HOLD_COLLECTIVE)

template <class Ours, class Theirs> constexpr bool same_handle = same_argument<Ours, Theirs>();
static_assert(same_handle<ABI::Comm, MPI_Comm> && same_handle<ABI::Datatype, MPI_Datatype>);
static_assert(same_handle<ABI::Request, MPI_Request> && same_handle<ABI::Win, MPI_Win>);
static_assert(same_handle<ABI::Info, MPI_Info> && same_handle<ABI::Errhandler, MPI_Errhandler>);
static_assert(same_handle<ABI::Op, MPI_Op>);
static_assert(sizeof(mpi::Aint) == sizeof(MPI_Aint));

static_assert(mpi::success == MPI_SUCCESS);
static_assert(mpi::max_error_string >= MPI_MAX_ERROR_STRING);
static_assert(ABI::mode_nocheck == MPI_MODE_NOCHECK && ABI::err_win == MPI_ERR_WIN);

#define TEXT_OF(words) #words
#define TEXT(words) TEXT_OF(words)
/// Does the macro's text name this object, or this number?
consteval bool says(std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
}

#ifdef OMPI_MPI_H
static_assert(says(TEXT(MPI_BYTE), "(ompi_mpi_byte)"));
static_assert(says(TEXT(MPI_FLOAT), "ompi_mpi_float)"));
static_assert(says(TEXT(MPI_DOUBLE), "ompi_mpi_double)"));
static_assert(says(TEXT(MPI_INT), "ompi_mpi_int)"));
static_assert(says(TEXT(MPI_INT64_T), "ompi_mpi_int64_t)"));
static_assert(says(TEXT(MPI_SUM), "ompi_mpi_op_sum)"));
static_assert(says(TEXT(MPI_MAX), "ompi_mpi_op_max)"));
static_assert(says(TEXT(MPI_MIN), "ompi_mpi_op_min)"));
static_assert(says(TEXT(MPI_IN_PLACE), "1)"));
static_assert(says(TEXT(MPI_INFO_NULL), "(ompi_mpi_info_null)"));
static_assert(says(TEXT(MPI_ERRORS_RETURN), "(ompi_mpi_errors_return)"));
static_assert(says(TEXT(MPI_STATUS_IGNORE), "(0)") || says(TEXT(MPI_STATUS_IGNORE), " 0)"));
static_assert(says(TEXT(MPI_STATUSES_IGNORE), "(0)") || says(TEXT(MPI_STATUSES_IGNORE), " 0)"));
#else
static_assert(mpi::MpichAbi::byte_handle == MPI_BYTE);
static_assert(mpi::MpichAbi::fp32_handle == MPI_FLOAT && mpi::MpichAbi::fp64_handle == MPI_DOUBLE);
static_assert(mpi::MpichAbi::int32_handle == MPI_INT && mpi::MpichAbi::sum_handle == MPI_SUM);
static_assert(mpi::MpichAbi::int64_handle == MPI_INT64_T);
static_assert(mpi::MpichAbi::max_handle == MPI_MAX && mpi::MpichAbi::min_handle == MPI_MIN);
static_assert(says(TEXT(MPI_IN_PLACE), "-1"));
static_assert(mpi::MpichAbi::info_null_handle == MPI_INFO_NULL);
static_assert(mpi::MpichAbi::errors_return_handle == MPI_ERRORS_RETURN);
static_assert(says(TEXT(MPI_STATUS_IGNORE), "1") && says(TEXT(MPI_STATUSES_IGNORE), "1"));
#endif
