"""Libraries whose all-reduce may be summed by switches, and the variables by which it is not."""

from __future__ import annotations

from collections.abc import Mapping

POINT_TO_POINT = {"ring", "tree"}
"""Algorithms of NCCL by which each byte goes from one rank to another."""


def point_to_point(transport: str, variables: Mapping[str, str]) -> bool:
    """True if the environment leaves a library only messages between two ranks; False if unknown."""
    algorithms = {word.strip().lower() for word in variables.get("NCCL_ALGO", "").split(",")}
    without_switches = (
        variables.get("NCCL_NVLS_ENABLE") == "0" and variables.get("NCCL_COLLNET_ENABLE", "0") == "0"
    )
    nccl = algorithms <= POINT_TO_POINT or without_switches
    if transport != "shmem":
        return transport == "ccl" and nccl
    # It hands operations to NCCL; its own use of switches is off unless the user switches it on.
    handed_on = variables.get("NVSHMEM_DISABLE_NCCL") != "1"
    return variables.get("NVSHMEM_DISABLE_NVLS", "1") == "1" and (nccl or not handed_on)
