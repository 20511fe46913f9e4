"""Another tool's output, explained."""
