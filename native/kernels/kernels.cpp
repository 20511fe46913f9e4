// Every kernel, compiled for the CPU. The same text, as a string, is in source.hpp.
#include "kernels/payload.h"
#include "kernels/play.h"
#include "kernels/sums.h"

namespace {

const wirespeed::cpu::Add<ws_payload_fill> add_fill{"ws_payload_fill"};
const wirespeed::cpu::Add<ws_payload_check> add_check{"ws_payload_check"};
const wirespeed::cpu::Add<ws_sums_fill> add_sums_fill{"ws_sums_fill"};
const wirespeed::cpu::Add<ws_sums_add> add_sums_add{"ws_sums_add"};
const wirespeed::cpu::Add<ws_sums_check> add_sums_check{"ws_sums_check"};
const wirespeed::cpu::Add<ws_play_packets> add_play_packets{"ws_play_packets"};
const wirespeed::cpu::Add<ws_pair_packets> add_pair_packets{"ws_pair_packets"};
const wirespeed::cpu::Add<ws_play_stores> add_play_stores{"ws_play_stores"};
const wirespeed::cpu::Add<ws_pair_stores> add_pair_stores{"ws_pair_stores"};
const wirespeed::cpu::Add<ws_play_bulk> add_play_bulk{"ws_play_bulk"};
const wirespeed::cpu::Add<ws_pair_bulk> add_pair_bulk{"ws_pair_bulk"};
const wirespeed::cpu::Add<ws_play_pull> add_play_pull{"ws_play_pull"};
const wirespeed::cpu::Add<ws_pair_pull> add_pair_pull{"ws_pair_pull"};
const wirespeed::cpu::Add<ws_play_bulk_pull> add_play_bulk_pull{"ws_play_bulk_pull"};
const wirespeed::cpu::Add<ws_pair_bulk_pull> add_pair_bulk_pull{"ws_pair_bulk_pull"};
const wirespeed::cpu::Add<ws_pair_packet> add_pair_packet{"ws_pair_packet"};
const wirespeed::cpu::Add<ws_pair_warp> add_pair_warp{"ws_pair_warp"};
const wirespeed::cpu::Add<ws_pair_short> add_pair_short{"ws_pair_short"};
const wirespeed::cpu::Add<ws_copy_and_tell> add_copy{"ws_copy_and_tell"};
const wirespeed::cpu::Add<ws_play_facts> add_facts{"ws_play_facts"};
const wirespeed::cpu::Add<ws_wait_ticks> add_wait{"ws_wait_ticks"};

}  // namespace
