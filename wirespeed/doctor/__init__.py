"""What a machine has, what about it is wrong or slow, and what to set: facts, findings, trials."""
