"""Joining of the ranks: MPI or sockets, their places on CPUs, and what is theirs alone."""
