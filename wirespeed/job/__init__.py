"""What the front end and the ranks of a job agree on."""
