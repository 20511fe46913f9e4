"""Result files that `wirespeed compare` is tried on, and its answer."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.records import entry, step

from wirespeed.cli.main import main

Record = dict[str, Any]
Compare = Callable[..., tuple[int, str, str]]
SIZES = (8, 1024, 1 << 16, 1 << 20, 1 << 24, 1 << 28)


def write(
    file: Path,
    name: str,
    slower: float = 1.0,
    paths: Sequence[str] = ("host",),
    sizes: Sequence[int] = SIZES,
    plan: Record | None = None,
    environment: Record | None = None,
    steps: Sequence[Record] | None = None,
    more: Sequence[Record] = (),
    jitter: float = 0.0,
) -> Path:
    """A result file with one run: 1 us + 1 ns a KiB, times `slower`."""
    dice = random.Random(name)
    stopping = {"precision": 0.01, "max_time": 0.15, "loops": None, "warmup": None}
    whole = {"pattern": "pingpong", "ranks": 2, "stopping": stopping, "sizes": list(sizes), **(plan or {})}
    records = [
        {"kind": "run", "plan": whole, "environment": {"host": "n1", "variables": {}, **(environment or {})}},
        *(steps if steps is not None else [step(path) for path in paths]),
        *(
            entry(
                path,
                size,
                (1e-6 + size * 1e-12) * slower * (1 + dice.gauss(0, jitter)),
                0.002,
                pattern=whole["pattern"],
            )
            for path in paths
            for size in sizes
        ),
        *more,
        {"kind": "end", "status": "complete"},
    ]
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps({**record, "run": name}) + "\n" for record in records))
    return file


def comparing(capsys: pytest.CaptureFixture[str]) -> Compare:
    """A function of the command's words: its exit code, its output in one line, and its errors."""

    def call(*words: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["compare", *map(str, words)])
        printed = capsys.readouterr()
        return code, " ".join(printed.out.split()), printed.err

    return call
