"""The user's own transfers, from a file: who sends how many bytes to whom, in which step."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from wirespeed import inputs
from wirespeed.errors import WirespeedError
from wirespeed.patterns.answers import unanswered
from wirespeed.patterns.base import Pattern
from wirespeed.patterns.rules import Option, RankRule, SizeRule, Timing
from wirespeed.patterns.steps import Derived, Figure, Step, Transfer
from wirespeed.units import format_size, parse_size

COLUMNS = ("step", "from", "to", "bytes")
MAX_STEPS = 100_000


@dataclass(frozen=True)
class Line:
    """One transfer, and the line of the file that it stands in."""

    number: int
    step: int
    sender: int
    receiver: int
    bytes: int

    @property
    def ranks(self) -> int:
        """Smallest number of ranks that the file needs."""
        return max(self.sender, self.receiver) + 1


class Custom(Pattern):
    """An iteration is all of the file's steps, in order; the transfers of a step run concurrently."""

    name = "custom"
    summary = "Measure your own transfers, from a CSV or JSON file."
    help = """
    The file has a line for each transfer: its step (from 0 on; transfers of one step are under way at once),
    who sends (from), who receives (to), and how many bytes, as in 4096 or 64K. CSV with a head, or JSON: a
    list of objects with these members.

    \b
      step,from,to,bytes
      0,0,1,1M
      0,1,0,1M
      1,0,2,64K

    An iteration ends when its last transfer has arrived; each sample begins with a barrier, and the time is
    that of the slowest rank. GB/s are all bytes of the iteration over that time. Where no message leads
    from a receiver back to the sender, the receiver ends the iteration with an empty answer: else the sender
    would run ahead, and the time would be the gap between messages (wirespeed stream measures that).

    \b
    Examples:
      wirespeed custom --file mine.csv
      wirespeed custom --file mine.csv --paths all
    """
    options = (Option("file", "The transfers: FILE.csv or FILE.json.", None, metavar="FILE"),)
    timing = Timing(barrier=True, slowest=True)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The file's transfers. Raises WirespeedError that names file and line."""
        name = self["file"]
        if not name:
            raise WirespeedError("custom takes its transfers from a file: --file FILE.csv or FILE.json")
        return read(str(name))

    def refuse(self) -> str | None:
        worst = max(self.lines, key=lambda line: line.ranks)
        needed = worst.ranks
        if needed <= self.ranks:
            return None
        where = f"{self['file']}:{worst.number}"
        return f"{where}: rank {needed - 1} takes {needed} ranks or more, not {self.ranks}: --ranks {needed}"

    @property
    def rank_rule(self) -> RankRule:
        return RankRule(None, usual=max(line.ranks for line in self.lines) if self["file"] else None)

    @property
    def size_rule(self) -> SizeRule:
        return SizeRule(fixed=(max(line.bytes for line in self.lines),) if self["file"] else ())

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        lines = self.lines
        lines += _answers(lines)
        steps: list[tuple[list[Transfer], list[Transfer]]] = [([], []) for _ in range(lines[-1].step + 1)]
        # Every transfer has a place of its own in the buffers of both its ends.
        sent, received = Counter[int](), Counter[int]()
        for line in lines:
            sends, receives = steps[line.step]
            out, into = sent[line.sender], received[line.receiver]
            sent[line.sender] += line.bytes
            received[line.receiver] += line.bytes
            if line.sender == rank:
                sends.append(Transfer(line.receiver, line.bytes, out, into))
            if line.receiver == rank:
                receives.append(Transfer(line.sender, line.bytes, into, out))
        return [Step(tuple(sends), tuple(receives)) for sends, receives in steps]

    def figure(self, size: int) -> Figure:
        lines = self.lines
        total = sum(line.bytes for line in lines)
        steps = _several(lines[-1].step + 1, "step")
        text = f"iteration: {_several(len(lines), 'transfer')}, {format_size(total)}, in {steps}"
        if answers := len(_answers(lines)):
            text += f", and {'an empty answer' if answers == 1 else f'{answers} empty answers'}"
        text += "; GB/s of all bytes"
        return Figure(1, total, text, (Derived("messages", len(lines), "messages/s"),))


@lru_cache(maxsize=4)
def _answers(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Empty messages, in a step of their own, back to those senders that would run ahead."""
    found = unanswered((line.sender, line.receiver) for line in lines)
    return tuple(Line(0, lines[-1].step + 1, receiver, sender, 0) for sender, receiver in found)


@lru_cache(maxsize=4)
def read(name: str) -> tuple[Line, ...]:
    """The transfers in a file, in order of steps. Raises WirespeedError with the line that is wrong."""
    try:
        # Spreadsheets begin it with a mark.
        text = inputs.text(name, "utf-8-sig", pipes=False)
    except (OSError, ValueError) as error:
        raise WirespeedError(f"--file {name}: cannot read it ({inputs.why(error)})") from None
    of_json = name.endswith(".json")
    rows = _json_rows(name, text) if of_json else _csv_rows(name, text)
    sign = ": entry " if of_json else ":"
    try:
        found = [_line(f"{name}{sign}{number}", number, row) for number, row in rows]
    except csv.Error as error:
        raise WirespeedError(f"{name}: this is no CSV file ({error})") from None
    lines = sorted(found, key=lambda line: line.step)
    if not lines:
        raise WirespeedError(f"{name}: there are no transfers in it")
    if missing := set(range(lines[-1].step)) - {line.step for line in lines}:
        raise WirespeedError(f"{name}: step {min(missing)} has no transfers; number the steps 0, 1, 2, ...")
    return tuple(lines)


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _csv_rows(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(text.splitlines())
    head: list[str] | None = None
    for cells in reader:
        row = [cell.strip() for cell in cells]
        if not any(row) or row[0].startswith("#"):
            continue
        if head is None:
            head = [cell.lower() for cell in row]
            if sorted(head) != sorted(COLUMNS):
                wanted = ",".join(COLUMNS)
                raise WirespeedError(f"{name}:{reader.line_num}: the first line must be {wanted}")
            continue
        if len(row) != len(head):
            found = _several(len(row), "value")
            raise WirespeedError(f"{name}:{reader.line_num}: {found} where there must be {len(head)}")
        yield reader.line_num, dict(zip(head, row, strict=True))


def _json_rows(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        rows = inputs.of_json(text)
    except inputs.BeyondLimits as error:
        raise WirespeedError(f"{name}: {error}") from None
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise WirespeedError(f"{name}:{line}: this is no JSON ({getattr(error, 'msg', error)})") from None
    if not isinstance(rows, list):
        raise WirespeedError(f"{name}: the file must be a list of objects with {', '.join(COLUMNS)}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or set(row) != set(COLUMNS):
            raise WirespeedError(f"{name}: entry {number} must have the members {', '.join(COLUMNS)}")
        yield number, row


def _line(where: str, number: int, row: dict[str, Any]) -> Line:
    step = _whole(where, "step", row["step"], MAX_STEPS)
    sender = _whole(where, "from", row["from"], 1 << 24)
    receiver = _whole(where, "to", row["to"], 1 << 24)
    if sender == receiver:
        raise WirespeedError(f"{where}: rank {sender} cannot send to itself")
    try:
        return Line(number, step, sender, receiver, parse_size(str(row["bytes"])))
    except (WirespeedError, ValueError):
        text = f"{where}: bytes is a size as in 4096 or 64K, not '{row['bytes']}'"
        raise WirespeedError(text) from None


def _whole(where: str, what: str, value: Any, most: int) -> int:
    text = str(value).strip()
    if not text.isdecimal() or len(text) > 9 or int(text) > most:
        raise WirespeedError(f"{where}: {what} is a whole number from 0 to {most}, not '{text[:40]}'")
    return int(text)


PATTERN = Custom()
