"""Judges figures, whoever measured them: it finds what no sound machine shows."""
