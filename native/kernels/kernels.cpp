// Every kernel, compiled for the CPU. The same text, as a string, is in source.hpp.
#include "kernels/payload.h"
#include "kernels/play.h"

namespace {

const wirespeed::cpu::Add<ws_payload_fill> add_fill{"ws_payload_fill"};
const wirespeed::cpu::Add<ws_payload_check> add_check{"ws_payload_check"};
const wirespeed::cpu::Add<ws_play_packets> add_packets{"ws_play_packets"};
const wirespeed::cpu::Add<ws_play_stores> add_stores{"ws_play_stores"};
const wirespeed::cpu::Add<ws_play_bulk> add_bulk{"ws_play_bulk"};
const wirespeed::cpu::Add<ws_play_pull> add_pull{"ws_play_pull"};
const wirespeed::cpu::Add<ws_play_bulk_pull> add_bulk_pull{"ws_play_bulk_pull"};
const wirespeed::cpu::Add<ws_play_facts> add_facts{"ws_play_facts"};

}  // namespace
