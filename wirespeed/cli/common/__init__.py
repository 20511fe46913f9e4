"""Code that commands share: options and their values, measuring with progress, reading result files."""
