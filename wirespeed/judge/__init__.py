"""Judges figures, whoever measured them: what no sound machine shows, and what changed between launches."""
