"""NICs that each rank's bytes left by: the libraries' logs, held against the hosts' counters.

A NIC that a library names is a message, {"name": "mlx5_0:1", "transport": "rc_mlx5", "gpudirect": True}:
`gpudirect` is missing where the library does not say whether the NIC reached GPU memory by itself.
"""
