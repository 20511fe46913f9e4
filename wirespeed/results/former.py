"""Records of older files, which had sentences alone: what these say, as the values that records have now.

Nothing else in wirespeed reads its own sentences.
"""

from __future__ import annotations

import re
from typing import TypeVar

from msgspec import structs

from wirespeed.job.cause import Cause, CauseKind, SharedAddress, kind_of
from wirespeed.results.model import Entry, Failure

Kind = TypeVar("Kind")
_DID = {
    "crashed": CauseKind.CRASH,
    "hung": CauseKind.HANG,
    "ended the program": CauseKind.DEATH,
    "failed": CauseKind.ERROR,
}
_POINTER = re.compile(rf"(?P<mpi>[^:;]+?) (?P<did>{'|'.join(_DID)}) on a device pointer")
_NOT_STARTED = re.compile("could not start|did not start")
_STOPPED = re.compile(r"rank (?P<rank>\d+) on (?P<host>\S+) \(pid \d+\) is stopped")
_SHARED = re.compile(
    r"(?P<address>[0-9a-fA-F.:]+) is on (?P<hosts>[^()]+) \((?P<interfaces>[^()]+)\)"
    r".*?(?:; (?P<own>\S+) has an address of its own|$)"
)
_INSTEAD = re.compile(r"measured with (.+?) instead\b")


def as_now(record: Kind) -> Kind:
    """The record with the values that its version of wirespeed wrote as sentences alone."""
    if isinstance(record, Failure) and not record.cause.kind:
        return _failure(record)  # type: ignore[return-value]
    if isinstance(record, Entry) and not record.timed and record.definition:
        return structs.replace(record, timed=record.definition.split(":")[0].split(",")[0])
    return record


def _failure(failure: Failure) -> Failure:
    kind, text = kind_of(failure.what), failure.text
    instead = _INSTEAD.match(failure.remedy or "")
    refused = _POINTER.match(text) if failure.what == "unavailable" else None
    stopped, shared = _STOPPED.search(text), _SHARED.search(text)
    if refused:
        kind = _DID[refused["did"]].value
    if _NOT_STARTED.search(text):
        kind = CauseKind.NOT_STARTED.value
    elif stopped and kind == CauseKind.HANG:
        kind = CauseKind.STOPPED.value
        failure = structs.replace(failure, rank=int(stopped["rank"]), host=stopped["host"])
    cause = Cause(
        kind,
        pointer=refused is not None,
        mpi=refused["mpi"] if refused else "",
        instead=instead[1] if instead else "",
        addresses=_addresses(shared),
        own=(shared and shared["own"]) or "",
    )
    return structs.replace(failure, cause=cause)


def _addresses(shared: re.Match[str] | None) -> tuple[SharedAddress, ...]:
    if shared is None:
        return ()
    hosts, interfaces = shared["hosts"].split(" and "), shared["interfaces"].split(", ")
    return (SharedAddress(shared["address"], tuple(hosts), tuple(interfaces)),)
