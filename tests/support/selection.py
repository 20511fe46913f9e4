"""What `make test` leaves to `make test-all`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

FIRST_CASES = ("conformance", "faults", "fuzz", "hosts", "native", "ranks")
"""Folders whose tests `make test` runs with their first parameters only."""
FURTHER = {
    *("test_allocators", "test_gasnet", "test_nccl_variants", "test_oshmem", "test_shmem", "test_ucx"),
    *("test_foreign_launcher", "test_nccl_faults", "test_nics", "test_slurm"),
    *("test_declared", "test_pictures", "test_pipelined", "test_ranges", "test_soak"),
    *("test_folds", "test_gpu_clock", "test_gpu_devices", "test_kernels_clang", "test_lanes", "test_streams"),
}
"""Files of libraries that few have, and of what quicker tests protect in part."""
LONG = {
    *("test_a_cut_network", "test_a_kernel_whose_peer_never_comes", "test_hiprtc", "test_the_oldest_nvrtc"),
    *("test_a_death_in_the_first_step_leaves_the_second_alone", "test_they_measure_when_their_turn_comes"),
    *("test_every_byte_arrives_both_ways", "test_nvrtc_of_a_gpu_newer_than_itself", "test_a_race_is_found"),
    *("test_one_of_them_dies_before_its_turn", "test_threads_of_a_block_do_not_race"),
    *("test_every_sample_of_many", "test_a_true_rate_gives_figures", "test_a_damaged_hang_is_tried"),
    *("test_who_stays_away_is_named", "test_a_file_is_all_that_a_new_pattern_takes"),
    *("test_no_part_of_a_norm_is_lost", "test_a_sample_holds_all_its_launches_and_no_waiting"),
    *("test_operations_of_a_stand_in_of_nccl", "test_every_pattern_over_stand_ins_of_libraries"),
    *("test_a_round_takes_all_its_steps", "test_gpus_have_every_kernel_that_the_cpu_has"),
    *("test_patterns_of_many_ranks", "test_after_a_hang_the_next_size_is_tried", "test_a_stopped_launcher"),
    *("test_a_front_end_killed_beside_another_pattern", "test_the_fastest_copy_is_taken"),
    *("test_a_struck_rank_while_kernels_wait", "test_a_killed_launch_costs_that_launch_only"),
    *("test_a_struck_rank_is_named", "test_the_last_launch_has_ended_when_a_batch_has"),
    *("test_operations_of_nvshmem_s_team", "test_beside_another_pattern_too"),
    *("test_sums_of_what_lies_at_its_senders", "test_a_stopped_rank_inside_a_launcher"),
    *("test_counts_beyond_mpi_s_are_cut", "test_a_kernel_is_in_the_unit_that_has_it"),
    *(
        "test_a_sender_reads_credit_only_when_it_must",
        "test_an_mpi_that_is_named_inside_the_launcher_of_another",
    ),
}
"""Tests that take 8 to 40 s, of what other tests protect in part."""


def thorough(*values: Any) -> Any:
    """Parameters of one more case, for `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def mark_further(items: Sequence[pytest.Item]) -> None:
    """Marks what FURTHER names, and all cases of a test but the first, unless every MPI counts."""
    begun = set[str]()
    for item in items:
        if item.path.parent.name not in FIRST_CASES or item.get_closest_marker("every_mpi"):
            continue
        name = item.nodeid.partition("[")[0]
        if name in begun or item.path.stem in FURTHER or name.rpartition("::")[2] in LONG:
            if not item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.further)
            item.add_marker(pytest.mark.thorough)
        elif not item.get_closest_marker("thorough"):
            begun.add(name)
