"""Medians, their intervals, when to stop, and Student's t; no machine is needed."""
