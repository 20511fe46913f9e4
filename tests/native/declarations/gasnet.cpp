// Compiled, not linked: fails to compile where libraries/gasnet.hpp differs from what the shim
// defines, over the stand-in's gasnetex.h.
#include "libraries/gasnet.hpp"

#include "../../../wirespeed/host/gasnet/shim.c"
#include "abi.hpp"

using wirespeed::Gasnet;

#define HOLD_GASNET(member, symbol, ...) HOLD(decltype(Gasnet::member), symbol)
WS_GASNET_CALLS(HOLD_GASNET)

static_assert(Gasnet::known_interface == INTERFACE);
