"""What is said of a run, as data: verdicts, choices, speedups, failures, formatted figures."""
