"""Whether every byte, sum and field is right."""
