"""What `make test` leaves to `make test-all`."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import pytest


def _words(text: str) -> set[str]:
    return {*text.split()}


FIRST_CASES = ("conformance", "faults", "fuzz", "hosts", "native", "page", "ranks")
"""Folders whose tests `make test` runs with their first parameters only."""
FURTHER = _words(
    """
    test_allocators test_declared test_folds test_foreign_launcher test_gasnet test_gpu_clock
    test_gpu_devices test_kernels_clang test_lanes test_nccl_faults test_nccl_variants test_nics
    test_openmp_device test_oshmem test_peer_faults test_peer_offsets test_pictures test_pipelined
    test_ranges test_shmem test_slurm test_small_programs test_soak test_start_board test_streams
    test_tma test_ucx
    """
)
"""Files of libraries that few have, and of what quicker tests protect in part."""
LONG = _words(
    """
    test_a_batch_of_sums_in_place_is_checked test_a_browser_reads_a_timeline_and_its_ranges_nest
    test_a_collective_of_several_steps_does_not_time_the_meeting test_a_compiler_that_aborts
    test_a_cut_network test_a_damaged_hang_is_tried
    test_a_death_in_the_first_step_leaves_the_second_alone test_a_false_clock_gives_no_figure
    test_a_file_is_all_that_a_new_pattern_takes test_a_front_end_killed_beside_another_pattern
    test_a_healthy_host_is_silent test_a_kernel_is_in_the_unit_that_has_it
    test_a_kernel_whose_peer_never_comes test_a_killed_launch_costs_that_launch_only
    test_a_large_file_opens test_a_launcher_and_a_library_that_do_not_belong_together
    test_a_lie_is_found_out_in_every_pattern test_a_list_that_changed_is_measured_again
    test_a_long_sum_off_16_bytes_is_done_by_a_single_block
    test_a_planted_fault_changes_what_is_conserved test_a_planted_fault_is_not_numpys
    test_a_program_keeps_what_it_stages_through test_a_race_is_found
    test_a_rank_killed_while_bytes_are_counted test_a_rank_that_dies_costs_nothing_before_it
    test_a_rank_that_gets_no_cpu_does_not_hang test_a_rank_that_is_struck
    test_a_ranks_own_thread_on_its_cpu test_a_ring_with_and_without_device_pointers
    test_a_run_refuses_a_solver_whose_reference_is_as_wrong
    test_a_sample_holds_all_its_launches_and_no_waiting
    test_a_sample_of_several_rounds_is_the_time_of_one test_a_sender_reads_credit_only_when_it_must
    test_a_silent_rank_beside_starved_ones test_a_size_that_always_crashes
    test_a_source_distribution_has_what_a_build_needs test_a_start_that_releases_nothing_is_found
    test_a_step_ends_when_all_its_blocks_have_moved_their_share test_a_stopped_launcher
    test_a_stopped_rank_inside_a_launcher test_a_struck_rank_is_named
    test_a_struck_rank_while_kernels_wait test_a_struck_target_of_loads test_a_true_rate_gives_figures
    test_after_a_hang test_after_a_hang_the_next_size_is_tried test_an_exchange_of_several_blocks
    test_an_end_that_fails_is_the_failure_of_the_path_before
    test_an_mpi_that_is_gpu_aware test_an_mpi_that_is_named_inside_the_launcher_of_another
    test_beside_another_pattern_too test_both_ways_into_the_stream
    test_chunks_to_near_and_far_peers_in_one_step test_counts_beyond_mpi_s_are_cut
    test_cpus_have_smaller_defaults test_a_field_in_the_cache_is_sound
    test_each_host_measures_its_own_gpus test_every_block_arrives test_every_byte_arrives_both_ways
    test_every_byte_arrives_without_mpi test_every_length_at_every_alignment
    test_every_operation_on_devices test_every_pattern_over_stand_ins_of_libraries
    test_every_sample_of_many test_faults_of_one_of_seven_are_found
    test_gpus_have_every_kernel_that_the_cpu_has test_hiprtc test_it_writes_what_the_pages_have
    test_its_threads_leave_the_cpu_that_is_timed test_lists_to_seven_ranks_at_once
    test_loads_over_a_vendors_driver test_many_more_ranks_than_cores test_many_ranks_at_once
    test_more_launches_are_added test_new_errors_and_throttling_mark_the_figures
    test_no_bit_depends_on_the_grid_of_threads test_no_communicator_is_left_where_a_peer_has_none
    test_no_library test_no_part_of_a_norm_is_lost test_nvrtc_of_a_gpu_newer_than_itself
    test_one_of_them_dies_before_its_turn test_one_sample_longer_than_the_watchdog_waits
    test_operations_in_the_kernel test_operations_of_a_stand_in_of_nccl
    test_operations_of_nvshmem_s_team test_overlap_and_its_absence_are_two_runs_of_one_file
    test_patterns_of_many_ranks test_planted_faults_of_ten_percent_are_found_and_nothing_else
    test_ranks_start_together_whatever_their_order_of_peers test_ranks_that_report_one_after_the_other
    test_ranks_without_a_part_try_what_the_others_try test_runs_that_start_at_once_have_a_file_each
    test_sizes_that_took_turns_come_back test_solvers_are_numpys test_streams_that_take_no_host_memory
    test_sums_of_what_lies_at_its_senders test_sums_that_are_made_while_they_are_sent test_taskset_holds
    test_the_faster_way_is_taken test_the_fastest_copy_is_taken
    test_the_front_end_ends_before_their_turn test_the_last_launch_has_ended_when_a_batch_has
    test_the_oldest_nvrtc test_the_switch_is_set_for_its_path_alone test_the_tutorials_line
    test_they_measure_when_their_turn_comes test_threads_of_a_block_do_not_race test_two_pods
    test_what_a_killed_front_end_leaves_is_swept test_what_is_conserved_stays
    test_what_is_fetched_after_the_last_stamp_is_no_contradiction
    test_what_ranks_find_lacking_is_no_failure test_who_has_no_room_costs_the_others_no_memory
    test_who_stays_away_is_named test_without_graphs
    """
)
"""Tests that take 6 to 40 s, of what other tests protect in part; of any folder."""


def thorough(*values: Any) -> Any:
    """Parameters of one more case, for `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def by_turns(*values: Any) -> Any:
    """Parameters of one more case that `make test` leaves out, and CI runs by turns."""
    return pytest.param(*values, marks=(pytest.mark.further, pytest.mark.thorough))


def its_turn(item: pytest.Item, turn: int) -> bool:
    """Does CI run this thorough test at a commit of that number?"""
    parts = 3 if item.get_closest_marker("further") else 60
    return zlib.crc32(item.nodeid.encode()) % parts == turn % parts


def mark_further(items: Sequence[pytest.Item]) -> None:
    """Marks what FURTHER names, and all cases of a test but the first, unless every MPI counts."""
    begun = set[str]()
    for item in items:
        name = item.nodeid.partition("[")[0]
        long = name.rpartition("::")[2] in LONG
        if not long and (item.path.parent.name not in FIRST_CASES or item.get_closest_marker("every_mpi")):
            continue
        if long or name in begun or item.path.stem in FURTHER:
            if not item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.further)
            item.add_marker(pytest.mark.thorough)
        elif not item.get_closest_marker("thorough"):
            begun.add(name)
