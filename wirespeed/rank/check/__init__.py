"""Checks that every byte, sum and field is right."""
