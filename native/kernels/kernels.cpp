// Every kernel, compiled for the CPU. The same text, as a string, is in source.hpp.
#include "kernels/chase.h"
#include "kernels/element_kernels.h"
#include "kernels/field_checks.h"
#include "kernels/payload.h"
#include "kernels/persistent_any.h"
#include "kernels/persistent_folds.h"
#include "kernels/persistent_pairs.h"
#include "kernels/persistent_soak.h"
#include "kernels/platform_facts.h"
#include "kernels/sums.h"
#include "kernels/waiting_copy.h"
#include "kernels/waiting_soak.h"

#define ADD(kernel) \
    const wirespeed::cpu::Add<kernel> add_##kernel { #kernel }

namespace {

ADD(ws_payload_fill);
ADD(ws_payload_check);
ADD(ws_pieces_fill);
ADD(ws_pieces_check);
ADD(ws_pieces_copy);
ADD(ws_pieces_copy_and_signal);
ADD(ws_soak_turn);
ADD(ws_soak_start);
ADD(ws_soak_end);
ADD(ws_soak_plant);
ADD(ws_soak_ll);
ADD(ws_soak_ll_words);
ADD(ws_soak_pair_lane);
ADD(ws_soak_pair_warp);
ADD(ws_soak_pair_block);
ADD(ws_sums_fill);
ADD(ws_sums_add);
ADD(ws_sums_check);
ADD(ws_elements_combine);
ADD(ws_elements_fill);
ADD(ws_elements_check);
ADD(ws_fields_compare);
ADD(ws_fields_damage);
ADD(ws_fields_delay);
ADD(ws_fields_keep);
ADD(ws_copy_bytes);
ADD(ws_copy_and_signal);
ADD(ws_wait_and_copy);
ADD(ws_wait_copy_and_check);
ADD(ws_chain_fill);
ADD(ws_chase);
ADD(ws_platform_facts);
ADD(ws_wait_ticks);
ADD(ws_any_ll);
ADD(ws_any_ll_words);
ADD(ws_any_ll_own);
ADD(ws_exchange_block);
ADD(ws_exchange_grid);
ADD(ws_exchange_warp);
ADD(ws_fold_ll);
ADD(ws_fold_ll_words);
ADD(ws_fold_stores);
ADD(ws_fold_pull);
ADD(ws_any_stores);
ADD(ws_any_tma);
ADD(ws_any_pull);
ADD(ws_any_tma_pull);
ADD(ws_pair_ll_lane);
ADD(ws_pair_ll_warp);
ADD(ws_pair_ll_block);
ADD(ws_pair_ll);
ADD(ws_pair_stores);
ADD(ws_pair_tma);
ADD(ws_pair_pull);
ADD(ws_pair_tma_pull);

}  // namespace
