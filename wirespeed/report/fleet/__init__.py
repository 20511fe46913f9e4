"""Reports of a fleet's history: on a terminal, as JSON, for Prometheus, for schedulers, as a page."""
