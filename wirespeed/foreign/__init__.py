"""Reads what other tools print: figures with their definitions, settings, transports, topology, failures."""
