"""The process that a person starts: it plans, starts job steps, watches the ranks, and records."""
