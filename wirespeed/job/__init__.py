"""Agreements between the front end and the ranks of a job."""
