// Compiled, not linked: fails to compile where libraries/openacc.hpp differs from GCC's openacc.h.
#include <openacc.h>

#include "abi.hpp"
#include "libraries/openacc.hpp"

using wirespeed::OpenAcc;

#define HOLD_OPENACC(member, symbol, ...) HOLD(decltype(OpenAcc::member), symbol)
WS_OPENACC_CALLS(HOLD_OPENACC)

static_assert(OpenAcc::nvidia_of_gcc == acc_device_nvidia);
