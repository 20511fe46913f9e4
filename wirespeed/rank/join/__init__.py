"""How ranks come together: MPI or sockets, their places on CPUs, and what is theirs alone."""
