"""Medians, their intervals, when to stop, and whether two sides differ; no machine is needed."""
