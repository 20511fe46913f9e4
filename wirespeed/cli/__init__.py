"""The commands. Each module here with a `register(app)` is one; a new one is found by being there."""
