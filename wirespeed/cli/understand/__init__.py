"""Commands that say what is there: the machine, its paths, published machines, result files."""
