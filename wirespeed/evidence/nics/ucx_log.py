"""UCX's log at the level `info`: the NICs of the connections to other hosts, by process.

A line of UCX 1.13, and one of 1.20, with fewer blanks:

    [1795399337.464472] [n1:25   :0] ucp_worker.c:1763 UCX  INFO  ep_cfg[1]: tag(tcp/eth0)
    [1795399034.595766] [n1:22   :0] ucp_worker.c:1912 UCX  INFO  ucp_context_0 inter-node cfg#1 tag(tcp/eth0)

The lanes are those that a connection may use: which of them the bytes take, counters tell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

VARIABLES = {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": "stderr"}
"""Settings with which UCX writes these lines: a few for each process as it connects, none later. Standard
error is not buffered, so that a crash loses nothing."""

_LINE = re.compile(r"\s*\[\d+\.\d+\] \[(?P<host>[^:\]]+):(?P<pid>\d+)\s*:[^\]]*\] .*?UCX  (?:INFO|DIAG) ")
_CONNECTION = re.compile(r"(?:(?P<to>self|intra-node|inter-node) cfg#\d+|ep_cfg\[\d+\]:) ?(?P<lanes>\w+\(.*)")
_LANE = re.compile(r"(?P<transport>[\w]+)/(?P<device>[^\s()/]+)")
_OF_NETWORK = re.compile(r"tcp|srd|(rc|ud|dc)(_\w+)?|gga\w*|ugni_\w+")
_IN_HOST = re.compile(r"self|posix|sysv|xpmem|cma|knem")


def variables() -> dict[str, str]:
    """The variables that ask for this log; none where the user has set one of them."""
    return {} if any(name in os.environ for name in VARIABLES) else dict(VARIABLES)


def is_remark(line: str) -> bool:
    """True of a line that UCX wrote at a level below a warning."""
    return _LINE.match(line) is not None


def connection(line: str) -> tuple[tuple[str, int], list[dict[str, Any]]] | None:
    """(host, pid) and the NICs of a connection to another host; None for any other line."""
    written, told = _LINE.match(line), _CONNECTION.search(line)
    if not written or not told or told["to"] in ("self", "intra-node"):
        return None
    lanes = [(match["transport"], match["device"]) for match in _LANE.finditer(told["lanes"])]
    # Before 1.14 UCX did not say where a connection leads; lanes of shared memory lead nowhere else.
    if any(_IN_HOST.fullmatch(transport) for transport, _ in lanes):
        return None
    nics = dict.fromkeys(lane for lane in lanes if _OF_NETWORK.fullmatch(lane[0]))
    named = [{"name": device, "transport": transport} for transport, device in nics]
    return ((written["host"], int(written["pid"])), named) if named else None


class UcxLog:
    """The NICs that processes have named so far."""

    def __init__(self) -> None:
        self._nics: dict[tuple[str, int], list[dict[str, Any]]] = {}

    def take(self, line: str) -> bool:
        """Reads a line; whether it is a remark of UCX, in which a reader of failures has no interest."""
        if found := connection(line):
            process, nics = found
            known = self._nics.setdefault(process, [])
            known += [nic for nic in nics if nic not in known]
        return is_remark(line)

    def of(self, rank: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The NICs of a rank, by its host and pid. UCX cuts a host's name at its first dot."""
        return self._nics.get((str(rank["host"]).partition(".")[0], int(rank["pid"])), [])
