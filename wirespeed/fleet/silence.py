"""Nodes that launches died of, as far as the records tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from wirespeed.results.model import Event, Failure, StepRecord

DIED = ("crash", "hang", "death", "error")
"""Failures that end a launch."""


def deaths(records: Iterable[Event]) -> list[Failure]:
    """Causes that ended launches."""
    return [record for record in records if isinstance(record, Failure) and record.what in DIED]


def unanswering(failure: Failure, hosts: Sequence[str], each: int) -> list[str]:
    """Hosts that a hang shows to be silent: all others reported where they wait, and these did not.

    `hosts`: by their ranks, `each` on each. Where most are silent, only the one that the diagnosis names.
    """
    reported = {stack.rank for stack in failure.stacks}
    if failure.what != "hang" or failure.rank is None or not reported or failure.rank in reported:
        return []
    speaking = {rank // each for rank in reported}
    silent = [host for place, host in enumerate(hosts) if place not in speaking]
    named = failure.rank // each
    return silent if 2 * len(silent) < len(hosts) else [*hosts[named : named + 1]]


def suspects(failure: Failure, hosts: Sequence[str], each: int) -> list[str]:
    """Hosts that may be the reason: that of the rank named, else those that the launcher's output names.

    A launcher that lists most hosts accuses none of them.
    """
    if failure.rank is not None and failure.what != "hang" and 0 <= failure.rank // each < len(hosts):
        return [hosts[failure.rank // each]]
    words = {word for line in (*failure.log, failure.text) for word in re.findall(r"[\w.-]+", line)}
    named = [host for host in hosts if host in words]
    return named if 2 * len(named) < len(hosts) else []


def by_rank(records: Iterable[Event], hosts: Sequence[str], each: int) -> list[str]:
    """The hosts in the order of their ranks: a batch system may have sorted them.

    The given order where a record names other hosts, such as those behind addresses.
    """
    known = {host.partition(".")[0]: host for host in hosts}
    for step in (record for record in records if isinstance(record, StepRecord)):
        found = [known.get(rank.host.partition(".")[0], "") for rank in step.ranks[::each]]
        if sorted(found) == sorted(hosts):
            return found
    return list(hosts)
