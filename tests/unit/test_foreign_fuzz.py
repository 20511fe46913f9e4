"""Cut, shuffled, prefixed and damaged texts: nothing is raised, and every figure stands in the text."""

from __future__ import annotations

import os
import random
import re
from io import StringIO
from pathlib import Path

import pytest
from support.foreign import INPUTS

from wirespeed.foreign import found
from wirespeed.foreign.as_results import results_of
from wirespeed.foreign.explain import explain
from wirespeed.foreign.question import Question
from wirespeed.foreign.reading import read
from wirespeed.foreign.shapes import Log
from wirespeed.report.console.console import make_console
from wirespeed.report.foreign.lines import print_explanation
from wirespeed.results.runs import collect

RESULTS = Path(__file__).parents[2] / "results"
CASES = int(os.environ.get("FUZZ_FOREIGN", "600"))
"""Damaged texts; FUZZ_FOREIGN=10000 makes more."""
PIECES = 6
FACTORS = (1.0, 1e3, 1e6, 1e9, 2.0**20, 2.0**30, 1e9 / 8, 1e-3, 1e-6, 1e-9)
"""Bytes per second of the units that tools print, and seconds of theirs."""
TEXTS = [
    file.read_bytes()[:20_000] for file in sorted([*INPUTS.rglob("*.*"), *RESULTS.glob("*/*nccl-tests*.txt")])
]
PREFIXES = (
    *(b"[0] ", b"1: ", b"[1,0]<stdout>:", b"node01: ", b"\x1b[31m", b"> ", b"| ", b"\t"),
    *(b"2026-11-28 10:00:00 ", b"2026-11-28 10:00:00,123 [INFO] ", b"Nov 28 10:00:00 node1 run.sh[42]: "),
)
ENDS = (b"\r\n", b"\r", b"\n\n", b" ", b"\x00")
DIGITS = (*(bytes([digit]) for digit in b"0123456789-+eE.,"), "²".encode(), "٣".encode())
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def damaged(text: bytes, random_: random.Random) -> bytes:
    """The text after one to six changes of what a post may have gone through."""
    for _ in range(random_.randint(1, PIECES)):
        lines = text.splitlines(keepends=True) or [b""]
        at, place = random_.randrange(len(lines)), random_.randrange(len(text) + 1)
        prefix, some = random_.choice(PREFIXES), random_.choice([0.5, 1.0])
        other = random_.choice(TEXTS).splitlines(keepends=True)
        digit, times = random_.choice(DIGITS), random_.choice([0, 1, 1, 25])
        digits = [place for place, letter in enumerate(text) if chr(letter).isdigit()]
        where = random_.choice(digits or [len(text)])
        noise, end = random_.randbytes(random_.randint(1, 9)), random_.choice(ENDS)
        text = random_.choice(
            [
                text[:place],
                text[place:],
                *[b"".join((prefix if random_.random() < some else b"") + line for line in lines)] * 2,
                b"".join(random_.sample(lines, len(lines))),
                text.replace(b"\n", end),
                text[:place] + noise + text[place:],
                text.replace(b".", b","),
                b"".join([*lines[:at], *lines[at + 1 :]]),
                b"".join([*lines[:at], *other[: random_.randrange(len(other) + 1)], *lines[at:]]),
                re.sub(rb" +", random_.choice([b" ", b"\t", b"   "]), text),
                text[:where] + digit * times + text[where + 1 :],
            ]
        )
    return text


def held(text: bytes) -> set[float]:
    """All numbers that can be seen in the text, commas as points, too."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.decode("utf-8", "replace"))
    plain = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", plain.replace("\r", "\n"))
    words = {*NUMBER.findall(plain), *NUMBER.findall(plain.replace(",", "."))}
    # A launcher's prefix may stand right behind a number, and a unit before it.
    return {float(part) for word in words for part in {word, *re.split("[eE]", word)} if part.strip("+-.")}


def figures(log: Log) -> list[float]:
    return [
        value
        for curve in log.curves
        for point in curve.points
        for value in (
            *(point.seconds, point.rate, point.peak, point.average, point.overall, point.t_min, point.t_max),
            *(point.bytes if point.bytes >= 0 and curve.operation != "barrier" else None, point.repetitions),
        )
        if value is not None
    ]


def invented(log: Log, text: bytes) -> list[float]:
    rounded = {f"{number:.9g}" for number in held(text)}
    return [
        value for value in figures(log) if all(f"{value / factor:.9g}" not in rounded for factor in FACTORS)
    ]


def test_no_figure_of_a_whole_text_is_invented() -> None:
    """Holds tests/golden/foreign, which is written by what it is held against."""
    assert [text[:60] for text in TEXTS if invented(read(text.splitlines(keepends=True)), text)] == []


@pytest.mark.parametrize("seed", range(6))
def test_damaged_texts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(seed)
    if seed % 2:
        monkeypatch.setattr(found, "MOST_ROWS", 7)
    read_some = 0
    for case in range(CASES // 6):
        text = damaged(random_.choice(TEXTS), random_)
        log = read(text.splitlines(keepends=True))
        explanation = explain(
            log, Question(random_.choice([{}, {"HDR": 25e9}]), random_.choice(["", "H100"]))
        )
        screen = StringIO()
        print_explanation(make_console(screen), explanation)
        lines = screen.getvalue().splitlines()
        assert len(lines) <= 40, (seed, case)
        assert [line for line in lines if not line.isprintable()] == [], (seed, case)
        assert invented(log, text) == [], (seed, case)
        runs = collect(results_of(log, "log.txt").records)
        odd = [entry for run in runs for entry in run.figures.values() if not entry.has_time]
        assert odd == [], (seed, case)
        read_some += bool(log.curves)
    assert read_some > CASES // 6 / 5
