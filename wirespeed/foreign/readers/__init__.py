"""Readers, one file each: READER is found by being there, those with a lower ORDER first."""
