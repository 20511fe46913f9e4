"""Sizes that make NCCL fast and wrong: each depends on others, so no pattern of one value finds it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.shell import assigned
from wirespeed.errors import WirespeedError
from wirespeed.units import format_size, parse_size

STEPS = 8
"""NCCL_STEPS of NCCL's device.h: parts of a buffer."""
BUFFER, CHUNK = 4 << 20, 128 << 10
"""Bytes, where NCCL_BUFFSIZE and NCCL_P2P_NET_CHUNKSIZE are not set."""
_ISSUES = "https://github.com/NVIDIA/nccl/issues"
_CHUNKS = f"{_ISSUES}/2408; https://github.com/NVIDIA/nccl/pull/2410"


_DIGITS = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*))")


class Sizes(NamedTuple):
    """Numbers in the environment, by name."""

    given: dict[str, int]

    @property
    def slot(self) -> int:
        """Bytes of a part of a buffer."""
        return self.given.get("NCCL_BUFFSIZE", BUFFER) // STEPS

    @property
    def step(self) -> int:
        """Bytes of a step between two GPUs of different hosts."""
        return min(self.given.get("NCCL_P2P_NET_CHUNKSIZE", CHUNK), self.slot)


class Rule(NamedTuple):
    """A variable, the values that are wrong beside the others, and why."""

    names: tuple[str, ...]
    wrong: Callable[[int, Sizes], bool]
    why: Callable[[Sizes], str]
    source: str


RULES = (
    Rule(
        ("NCCL_CHUNK_SIZE",),
        lambda value, sizes: value < 0 or value > sizes.step,
        lambda sizes: (
            f"NCCL writes beyond its buffers from {format_size(sizes.step)} on, the step that "
            "NCCL_P2P_NET_CHUNKSIZE and NCCL_BUFFSIZE give: wrong data, or Xid 31"
        ),
        _CHUNKS,
    ),
    Rule(
        ("NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE"),
        lambda value, sizes: value > sizes.slot,
        lambda sizes: (
            f"it is larger than {format_size(sizes.slot)}, an eighth of NCCL_BUFFSIZE: NCCL cuts it, or "
            "delivers wrong data"
        ),
        f"{_CHUNKS}; NCCL's init.cc: computeBuffSizes",
    ),
    Rule(
        ("NCCL_LL128_BUFFSIZE",),
        lambda value, _: value % 120 != 0 or not _power_of_two(value // 120),
        lambda _: "LL128 needs 120 B times a power of two, such as 122880: else wrong data, or a hang",
        f"{_ISSUES}/1739",
    ),
    Rule(
        ("NCCL_BUFFSIZE", "NCCL_LL_BUFFSIZE"),
        lambda value, _: not _power_of_two(value),
        lambda _: "a buffer that is no power of two gives wrong data",
        f"{_ISSUES}/698; {_ISSUES}/1739",
    ),
    Rule(
        ("NCCL_NTHREADS",),
        lambda value, _: value not in (64, 128, 256, 512),
        lambda _: "NCCL takes 64, 128, 256 or 512 threads: others have given wrong data",
        f"{_ISSUES}/698; https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-nthreads",
    ),
)


def find(facts: MachineFacts) -> Iterator[Finding]:
    """No trial: a gain in speed would say nothing."""
    if not facts.gpus:
        return
    given = {name: _number(text) for name, text in facts.variables.items() if name.startswith("NCCL_")}
    numbers = {name: value for name, value in given.items() if value is not None}
    sizes = Sizes(numbers)
    for rule in RULES:
        for name in rule.names:
            if name not in numbers:
                continue
            why, remedy = rule.why(sizes), f"unset {name}"
            if meant := _with_unit(facts.variables[name]):
                why = f"NCCL reads {numbers[name]}, without the unit: it takes whole numbers"
                remedy = f"export {name}={meant}"
            elif not rule.wrong(numbers[name], sizes):
                continue
            text = assigned(name, facts.variables[name])
            yield Finding(
                f"variable-{name}",
                f"{text}: {why}",
                Cost.BREAKS,
                (f"{text} is set in the environment",),
                (remedy,),
                source=rule.source,
            )


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _number(text: str) -> int | None:
    """As NCCL reads it (strtoll): the digits at its start, hexadecimal behind 0x, octal behind 0."""
    if not (found := _DIGITS.match(text)):
        return None
    digits = found[1]
    octal = digits.lstrip("+-").startswith("0") and not digits.lower().lstrip("+-").startswith("0x")
    return int(digits, 8 if octal else 0)


def _with_unit(text: str) -> int | None:
    """Bytes of '4M' or '512 KiB', whose unit NCCL does not read; None for a plain number."""
    if _DIGITS.fullmatch(text.strip()):
        return None
    with suppress(WirespeedError):
        return parse_size(text.strip().replace(" ", ""))
    return None
