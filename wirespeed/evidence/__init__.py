"""Evidence of the wire that bytes travelled over: counters around counted transfers, and the verdict."""
