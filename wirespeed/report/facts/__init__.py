"""Statements about a run, as data: verdicts, choices, speedups, failures, formatted figures."""
