"""Commands that make something for other readers of result files."""
