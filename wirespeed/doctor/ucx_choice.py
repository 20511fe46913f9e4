"""UCX's choice for device memory, by its own log, where an MPI over UCX stages though GPUs have a link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct, structs

from wirespeed.doctor import job
from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.findings import staged_aware
from wirespeed.host.temporary import temporary_folder
from wirespeed.results.findings import Conditions

SIZE = 4 << 20
"""Bytes of the message whose protocol is looked for."""
USED_SINCE = (1, 21)
"""UCX that takes UCX_PROTO_INFO=used; older ones take 'y', and print protocols that no message used, too."""
MAX_LINES = 4
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_RANGE = re.compile(r"(\d+)([KMG]?)(?:\.\.(?:(\d+)([KMG]?)|inf))?$")
_OF_GPU = re.compile(r"(tagged message by \S+\*|rendezvous data fetch) (from|into) (cuda|rocm|ze)")
_ESTIMATE = "(?) "
"""What UCX puts before a choice that rests on its estimate of what the peer will do."""


class Choice(Struct, frozen=True):
    """A row of the tables that UCX_PROTO_INFO prints."""

    operation: str
    """'tagged message by ucp_tag_send* from cuda/GPU0'."""
    sizes: str
    first: int
    last: int | None
    """None: without an end."""
    protocol: str
    lanes: str
    count: int | None = None
    """Messages that took it; None: this UCX does not say."""

    def words(self) -> str:
        """'UCX chose for tagged message ... from cuda/GPU0, 8257..inf B: rendezvous ... by cuda_copy'."""
        estimate = ", by its estimate" if self.protocol.startswith(_ESTIMATE) else ""
        by = f" by {self.lanes}" if self.lanes else ""
        what = self.protocol.removeprefix(_ESTIMATE)
        return f"UCX chose for {self.operation}, {self.sizes} B: {what}{by}{estimate}"


def with_choice(facts: MachineFacts, request: job.Base, say: Callable[[str], None]) -> MachineFacts:
    """The facts with what UCX says of its choice, where that matters: one more measurement."""
    mpi = facts.chosen
    linked = any(pair.nvlinks or pair.peer == "ok" for pair in facts.pairs)
    if not mpi or not mpi.ucx or not linked or not any(staged_aware.find(facts)):
        return facts
    say("asking UCX which protocol it takes, in a job step of its own")
    with temporary_folder("ucx") as folder:
        job.measure("aware", (SIZE,), request, Conditions(variables(mpi.ucx, folder)))
        logs = [file.read_text(errors="replace") for file in sorted(folder.glob("*.log"))]
    found = dict.fromkeys(choice.words() for log in logs for choice in chosen(log, SIZE))
    return structs.replace(facts, ucx_choice=tuple(found)[:MAX_LINES])


def variables(ucx: str, folder: Path) -> dict[str, str]:
    """Settings with which ranks of this UCX ('UCX 1.22.0 with cuda') write their choices into the folder."""
    numbers = re.search(r"(\d+)\.(\d+)", ucx)
    used = numbers is not None and (int(numbers[1]), int(numbers[2])) >= USED_SINCE
    log = {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": f"{folder}/ucx.%h.%p.log"}
    return {"UCX_PROTO_INFO": "used" if used else "y", **log}


def chosen(log: str, size: int) -> Iterator[Choice]:
    """Of a log's tables the rows for messages of this size from or into a GPU's memory."""
    for row in rows(log):
        gpu = _OF_GPU.match(row.operation)
        inside = row.first <= size and (row.last is None or size <= row.last)
        if gpu and inside and row.count != 0 and row.protocol != "no data fetch":
            yield row


def rows(log: str) -> Iterator[Choice]:
    """The rows of all tables but a rank's own: 3 columns up to UCX 1.20, 4 with UCX_PROTO_INFO=used."""
    where, title = "", ""
    for line in log.splitlines():
        cells = [cell.strip() for cell in line.partition("|")[2].rstrip().rstrip("|").split("|")]
        if len(cells) in (3, 4) and (limits := _RANGE.match(cells[-3])):
            if " self cfg" in where:
                continue
            first, last = (int(number) * _UNITS[unit or ""] for number, unit in _ends(limits))
            count = int(cells[0]) if len(cells) == 4 and cells[0].isdecimal() else None
            endless = cells[-3].endswith("inf")
            yield Choice(title, cells[-3], first, None if endless else last, cells[-2], cells[-1], count)
        elif len(cells) in (1, 2) and cells[-1]:
            # A table begins with two lines, or cells: whose connection it is, and the operation.
            where, title = cells[0] if len(cells) == 2 else title, cells[-1]


def _ends(limits: re.Match[str]) -> tuple[tuple[str, str], tuple[str, str]]:
    first, unit, last, last_unit = limits.groups()
    return (first, unit), (last or first, last_unit if last else unit)
