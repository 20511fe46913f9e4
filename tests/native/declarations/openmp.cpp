// Compiled, not linked: fails to compile where libraries/openmp.hpp differs from omp.h.
#include <omp.h>

#include "abi.hpp"
#include "libraries/openmp.hpp"

using wirespeed::OpenMp;

#define HOLD_OPENMP(member, symbol, ...) HOLD(decltype(OpenMp::member), symbol)
WS_OPENMP_CALLS(HOLD_OPENMP)
