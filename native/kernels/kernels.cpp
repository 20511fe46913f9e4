// Every kernel, compiled for the CPU. The same text, as a string, is in source.hpp.
#include "kernels/payload.h"

namespace {

const wirespeed::cpu::Add<ws_payload_fill> add_fill{"ws_payload_fill"};
const wirespeed::cpu::Add<ws_payload_check> add_check{"ws_payload_check"};

}  // namespace
