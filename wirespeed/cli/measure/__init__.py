"""Commands that measure something now, or write the job that does."""
