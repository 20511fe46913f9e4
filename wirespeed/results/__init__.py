"""The result file: JSON Lines, one record a line, described by schema.json and docs/results.md."""
