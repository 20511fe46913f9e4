"""Which wire the bytes travelled over: counters read around counted transfers, and the verdict on them."""
