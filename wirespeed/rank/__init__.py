"""The process that measures: one rank of a job."""
