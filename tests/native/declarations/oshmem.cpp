// Compiled, not linked: fails to compile where libraries/oshmem.hpp differs from Open MPI's
// shmem.h.
#include <shmem.h>

#include "abi.hpp"
#include "libraries/oshmem.hpp"

using wirespeed::Oshmem;

#define HOLD_OSHMEM(member, symbol, ...) HOLD(decltype(Oshmem::member), symbol)
WS_OSHMEM_CALLS(HOLD_OSHMEM)

static_assert(Oshmem::compare_ge == SHMEM_CMP_GE);
