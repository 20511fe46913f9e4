"""Facts about a machine: one module for each source, a function of a root folder or an interface."""
