"""Readings beside the timed loop: clocks, counters, health, CPUs that ranks waited for."""
