"""The history of many nodes: which of them, of their GPUs, links and switches are slow."""
