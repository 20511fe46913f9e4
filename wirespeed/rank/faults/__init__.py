"""For tests: faults of a path, which decorate its programs."""
