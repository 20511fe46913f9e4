"""What a fleet's history shows: on a terminal, as JSON, for Prometheus, for schedulers, as a page."""
