"""While it runs: bars and lines, the time so far, and what a pipe hears when nothing happens."""

from __future__ import annotations

import io
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from support.fake_fleet import FakeFleet
from support.fake_run import FakeRun
from support.golden import Golden
from support.records import as_read, console, entry, failure, figure, head, text_of

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.job.messages import Note, Progress
from wirespeed.job.plan import Plan
from wirespeed.report.console import status_line
from wirespeed.report.terminal import progress
from wirespeed.results import reading
from wirespeed.results.model import Event, StepStart

RESULTS = Path(__file__).parents[2] / "results"


def step_start(path: str, done: int, total: int, *launches: int) -> Event:
    return StepStart(path, time.monotonic_ns(), done, total, *launches)


def size(path: str, index: int, of: int = 2, bytes_: int = 0, **more: Any) -> Event:
    """A size begins, 8 B and twice as much each time, or goes on."""
    return Progress(path, bytes_ or 8 << index, index, of, **more)


def done(path: str, index: int) -> Event:
    """The figure of that size."""
    return figure(path, 8 << index, 1e-6)


def planned(sizes: int) -> Event:
    """The run's first record, with so many sizes."""
    begun = head()
    begun["plan"] |= {"sizes": [8 << index for index in range(sizes)], "budget": 60.0}
    (found,) = as_read([begun])
    return found


def failed(path: str, size: int | None, what: str, *texts: str) -> Event:
    (found,) = as_read([failure(path, size, what, *texts)])
    return found


FIGURE = as_read([entry("host", 65536, 8.52e-6)])[0]
NOTE, BEGIN = Note("a word"), step_start("host", 0, 1)
MEASURED = [event for index in range(2) for event in (size("host", index, 10), done("host", index))]
HUNG = [step_start("host", 0, 2), *MEASURED, failed("host", 32, "hang", "stuck"), step_start("host", 0, 2)]
RESUMED = [*HUNG, size("host", 0, 7, 64), done("host", 3)]
LAUNCH = [step_start("host", 0, 2, 1, 2), size("host", 9, 10), figure("host", 8, 1e-6)]
COARSE = Progress("host", 8, 0, 2, 1200, 0.02, seconds=1.5e-6)
SILENT = None
"""Nothing happens: the pipe is asked whether it has been silent for too long."""
PIPES: dict[str, list[tuple[float, Event | None]]] = {
    "paths that one reason excludes share a line": [
        *((0.0, event) for event in (BEGIN, Progress("host", 65536, 0, 2), FIGURE)),
        *((0.0, failed(path, None, "unavailable", "no GPU", "buy one")) for path in ("aware", "gpu")),
        (0.0, NOTE),
    ],
    "the bound stands beside the time, no guess of what is left": [
        *((0.0, planned(2)), (0.0, step_start("host", 2, 9)), (12.0, done("host", 0)))
    ],
    "a long size is not silent, nor are words between lines that come anyway": [
        *((0.0, SILENT), (0.0, BEGIN), (3.9, SILENT), (0.1, SILENT)),
        *((0.0, Progress("host", 8, 0, 2, 12)), (3.9, SILENT), (0.1, SILENT)),
    ],
    "a coarse figure comes before the first row, once": [
        *((0.0, BEGIN), (1.0, COARSE), (1.0, COARSE._replace(bytes=64)), (0.0, figure("host", 8, 1e-6))),
        (0.0, COARSE._replace(bytes=64, samples=2400)),
    ],
    "the launch is named": [(0.0, step_start("host", 4, 9, 2, 3)), (0.0, figure("host", 8, 1e-6))],
}
SCREENS: dict[str, list[Event]] = {
    "a size is measured": [
        *(step_start("host", 0, 2), size("host", 0, 10), FIGURE),
        Progress("host", 131072, 1, 10, 300, 0.025),
    ],
    "a failed path is done": [
        *(step_start("aware", 0, 1), size("aware", 0, 10), figure("aware", 8, 1e-6)),
        failed("aware", None, "unavailable", "crashed"),
    ],
    "a path is drawn anew in each launch": [*LAUNCH, step_start("host", 1, 2, 2, 2)],
    "a path hung": HUNG,
    "new processes measure what is left, and count it: the bar never goes back": RESUMED,
    "a size that is measured once more is one size": [*RESUMED, done("host", 3)],
    "another MPI measures a path anew": [
        step_start("aware", 0, 1),
        failed("aware", None, "unavailable", "crashed", "measured with Open MPI 5.0.11 instead"),
    ],
    "a path has sizes of its own": [BEGIN, size("host", 0, 5)],
}


def piped(events: Sequence[tuple[float, Event | None]]) -> str:
    """What a pipe hears, and after how many seconds."""
    now, heard = [0.0], list[str]()
    screen = console(200)
    view = progress.ProgressLines(screen, clock=lambda: now[0])
    for seconds, event in events:
        now[0] += seconds
        if event is SILENT:
            view.speak()
        else:
            view(event)
        heard += [f"{now[0]:.1f} s: {line}" for line in text_of(screen).splitlines()[len(heard) :]]
    return "\n".join(heard)


def drawn(width: int, events: Sequence[Event]) -> tuple[str, str]:
    """The picture after these events, a second each, and what went to the screen."""
    now = [0.0]
    screen = console(width, force_terminal=True)
    view = progress.LiveProgress(screen, ("host", "aware"), clock=lambda: now[0])
    if events:
        view(planned(10))
    for event in events:
        view(event)
        now[0] += 1
    picture = console(width)
    picture.print(view.render())
    view.close()
    return text_of(picture), text_of(screen)


class TestProgress:
    def test_what_is_told(self, golden: Golden) -> None:
        """Protects a pipe from silence, and bars from going back or being full too early."""
        assert status_line.SILENCE * 6 / 5 <= 5.0, "looks are a fifth apart"
        told = {f"pipe: {title}": piped(events) for title, events in PIPES.items()}
        for title, events in SCREENS.items():
            for width in (40, 60, 80, 120) if title == "a size is measured" else (80,):
                picture = drawn(width, events)[0]
                assert max(map(len, picture.splitlines())) <= width
                told[f"screen of {width}: {title}"] = picture
        golden("report/progress", told)

    def test_a_line_is_one_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects lines from words of ranks between them, which write to the same pipe."""
        stream, writes = io.StringIO(), list[str]()
        monkeypatch.setattr(stream, "write", writes.append)
        with progress.make_progress((), stream) as view:
            for event in (BEGIN, FIGURE, failed("aware", None, "crash", "it fell"), NOTE):
                view(event)
        assert len(writes) == 3 and all(text.count("\n") == 1 and text[-1] == "\n" for text in writes)

    def test_nothing_is_drawn_before_the_first_event(self) -> None:
        assert drawn(80, [])[1] == ""


@contextmanager
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[IO[str]]:
    """The other end of stderr, which is a real pipe that does not stay silent for more than a moment."""
    monkeypatch.setattr("wirespeed.report.console.status_line.SILENCE", 0.01)
    read, write = os.pipe()
    with os.fdopen(read) as reader, os.fdopen(write, "w") as writer, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", writer)
        yield reader


def until(words: str, pipe: IO[str]) -> str:
    """The next line that fits; a command that does not say it hangs here."""
    return next(line for line in pipe if re.search(words, line))


class TestSilence:
    """Each command goes on only when its pipe has heard what it does."""

    def test_a_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects from a thread that does not run, or speaks elsewhere: nothing calls it but the time."""
        with heard(monkeypatch) as pipe, progress.make_progress(()) as view:
            view(step_start("host", 0, 1))
            assert until("ranks start", pipe).startswith("host: ranks start  [path 1 of 1")

    def test_a_fleet(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Protects from minutes without a line, while hundreds of nodes measure one launch."""
        fleet = FakeFleet()
        told: list[str] = []

        def measure(plan: Plan, observe: Any, bound: object = None) -> ExitCode:
            told.append(until(r" on 4 nodes  \[.*so far, about" if told else r" on 4 nodes  \[", pipe))
            return fleet(plan, observe)

        monkeypatch.setattr("wirespeed.frontend.session.measure", measure)
        words = ["--hosts", "n[1-4]", "--out", str(tmp_path / "f"), "--device", "cpu", "--rounds", "1"]
        with heard(monkeypatch) as pipe:
            main(["fleet", "run", *words])
        assert len(told) == len(fleet.launches) > 1 and "about" not in told[0]

    def test_a_watch(self, fake: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects from a log in which a watch that hangs looks like one that waits for its time."""
        measure = fake.measure
        told: list[str] = []

        def measured(plan: Plan, observe: Any, bound: object) -> ExitCode:
            told.append(until(f"repetition {1 + len(told) // 2} is measured", pipe))
            return measure(plan, observe)

        def sleep(seconds: float) -> None:
            told.append(until("waits", pipe))

        monkeypatch.setattr("wirespeed.frontend.session.measure", measured)
        monkeypatch.setattr("wirespeed.interrupts.sleep", sleep)
        with heard(monkeypatch) as pipe:
            words = "watch --count 2 --sizes 8 --paths host --device cpu --out w.jsonl"
            assert main(words.split()) == ExitCode.OK
        first, waits, second = told
        assert first.startswith("repetition 1 is measured  [0:0") and second.startswith("repetition 2 is")
        assert re.match(r"repetition 2 waits for its time  \[0:0\d so far, about (1:00|0:5\d) left", waits)

    @pytest.mark.parametrize("words", ["compare {0} {0}", "show {0}", "report {0} -o {1}/report.html"])
    def test_a_large_file(self, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Protects from 68 s of silence while a file of 100 MB is read."""
        read = reading.read
        told: list[str] = []

        def slow(*given: Any) -> Any:
            told.append(until("read", pipe))
            return read(*given)

        monkeypatch.setattr(reading, "read", slow)
        with heard(monkeypatch) as pipe:
            main(words.format(RESULTS / "h200-x2-survey.jsonl", tmp_path).split())
        assert told and all(re.search(r" (is|are) read  \[0:0\d so far\]", line) for line in told)
