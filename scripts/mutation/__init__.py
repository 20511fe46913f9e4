"""The parts of scripts/mutants.py: what is changed, where it is put, which tests must notice."""
