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
from support.records import as_read, console, entry, failure, figure, head, text_of

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.job.messages import Note, Progress
from wirespeed.job.plan import Plan
from wirespeed.report.console import status_line
from wirespeed.report.terminal import progress
from wirespeed.results import reading
from wirespeed.results.events import StepStart
from wirespeed.results.model import Event

RESULTS = Path(__file__).parents[2] / "results"


def step_start(path: str, done: int, total: int, *launches: int) -> Event:
    return StepStart(path, time.monotonic_ns(), done, total, *launches)


def size(path: str, index: int, of: int = 2, bytes_: int = 0, **more: Any) -> Event:
    """A size begins, 8 B and twice as much each time, or goes on."""
    return Progress(path, bytes_ or 8 << index, index, of, **more)


def done(path: str, index: int) -> Event:
    """The figure of that size."""
    return figure(path, 8 << index, 1e-6)


LACKING, FAILED = as_read(
    [failure("aware", None, "unavailable", "no GPU"), failure("gpu", 8, "hang", "it hung")]
)


def planned(sizes: int) -> Event:
    """The run's first record, with so many sizes."""
    begun = head()
    begun["plan"]["sizes"] = [8 << index for index in range(sizes)]
    (found,) = as_read([begun])
    return found


class TestProgress:
    def test_plain_lines(self) -> None:
        stream = io.StringIO()
        lacking = [failure(path, None, "unavailable", "no GPU", "buy one") for path in ("aware", "gpu")]
        with progress.make_progress((), stream) as view:
            assert stream.getvalue() == ""
            view(step_start("host", 0, 1))
            view(Progress("host", 65536, 0, 2))
            for event in as_read([entry("host", 65536, 8.52e-6), *lacking]):
                view(event)
            view(Note("a word"))
        assert stream.getvalue().splitlines() == [
            "host      64 KiB   8.52 us    7.69 GB/s   ±0.4 %  120 samples  [path 1 of 1, 0:00 so far]",
            "aware, gpu: not available: no GPU; buy one",
            "a word",
        ]

    def test_a_line_is_one_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects lines from words of ranks between them, which write to the same pipe."""
        stream, writes = io.StringIO(), list[str]()
        monkeypatch.setattr(stream, "write", writes.append)
        with progress.make_progress((), stream) as view:
            view(step_start("host", 0, 1))
            for event in as_read([entry("host", 65536, 8.52e-6), failure("aware", None, "crash", "it fell")]):
                view(event)
            view(Note("a word"))
        assert len(writes) == 3 and all(text.count("\n") == 1 and text[-1] == "\n" for text in writes)

    def plain(self, events: Sequence[tuple[float, Event]]) -> list[str]:
        """What a pipe shows in brackets, after (seconds that pass, event)."""
        now, screen = [0.0], console(200)
        view = progress.ProgressLines(screen, clock=lambda: now[0])
        for seconds, event in events:
            now[0] += seconds
            view(event)
        return re.findall(r"\[(.*)\]", text_of(screen))

    def test_the_bound_stands_beside_the_time(self) -> None:
        """Protects from a guess of the time that is left: the bound is what the command keeps."""
        begun = head()
        begun["plan"]["budget"] = 60.0
        bound, place = *as_read([begun]), step_start("host", 2, 9)
        events = [(0.0, bound), (0.0, place), (12.0, done("host", 0))]
        assert self.plain(events) == ["path 3 of 9, 0:12 so far, --within 1m"]

    def test_a_long_size_is_not_silent(self) -> None:
        """Protects from a pipe that is silent for a minute, and from words where lines come anyway."""
        assert status_line.SILENCE * 6 / 5 <= 5.0, "looks are a fifth apart"
        now, screen = [0.0], console(200)
        view = progress.ProgressLines(screen, clock=lambda: now[0])
        view.speak()
        view(step_start("host", 0, 1))
        now[0] = 3.9
        view.speak()
        assert text_of(screen) == ""
        now[0] = 4.0
        view.speak()
        view(Progress("host", 8, 0, 2, 12))
        now[0] = 7.9
        view.speak()
        now[0] = 8.0
        view.speak()
        assert text_of(screen).splitlines() == [
            "host: ranks start  [path 1 of 1, 0:04 so far]",
            "host  8 B: 12 samples  [path 1 of 1, 0:08 so far]",
        ]

    def test_a_pipe_has_a_coarse_figure_before_the_first_row(self) -> None:
        """Protects the first answer of a run, where many sizes take turns and are done together."""
        now, screen = [0.0], console(200)
        view = progress.ProgressLines(screen, clock=lambda: now[0])
        view(step_start("host", 0, 1))
        for size in (8, 64):
            now[0] += 1.0
            view(Progress("host", size, 0, 2, 1200, 0.02, seconds=1.5e-6))
        view(*as_read([entry("host", 8, 1e-6)]))
        view(Progress("host", 64, 0, 2, 2400, 0.02, seconds=1.5e-6))
        first, figure = text_of(screen).splitlines()
        assert first == "host  8 B: 1.50 us so far, 1,200 samples  [path 1 of 1, 0:01 so far]"
        assert figure.startswith("host") and "1.00 us" in figure

    def test_a_pipe_names_the_launch(self) -> None:
        assert self.plain([(0, step_start("host", 4, 9, 2, 3)), (0, figure("host", 8, 1e-6))]) == [
            "launch 2 of 3, step 5 of 9, 0:00 so far"
        ]

    def live(self, width: int, events: Sequence[Event]) -> tuple[str, str]:
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

    @pytest.mark.parametrize("width", [40, 60, 80, 120])
    def test_live_view(self, width: int) -> None:
        picture, _ = self.live(
            width,
            [
                step_start("host", 0, 2),
                size("host", 0, 10),
                *as_read([entry("host", 65536, 8.52e-6)]),
                Progress("host", 131072, 1, 10, 300, 0.025),
            ],
        )
        assert max(map(len, picture.splitlines())) <= width
        assert "1/10" in picture and "8.52 us" in picture
        assert "waiting" in picture
        if width >= 80:
            assert "7.69 GB/s  now 128 KiB, 300 samples ±2.5 %" in picture
        assert "path 1 of 2, 0:04 so far" in " ".join(picture.split())

    def test_a_failed_path_is_done(self) -> None:
        picture, _ = self.live(
            80,
            [
                step_start("aware", 0, 1),
                size("aware", 0, 10),
                *as_read([entry("aware", 8, 1e-6), failure("aware", None, "unavailable", "crashed")]),
            ],
        )
        assert "not available" in picture and "10/10" in picture

    def test_a_path_is_drawn_anew_in_each_launch(self) -> None:
        once = [size("host", 9, 10), figure("host", 8, 1e-6)]
        picture, _ = self.live(80, [step_start("host", 0, 2, 1, 2), *once, step_start("host", 1, 2, 2, 2)])
        assert "0/10" in picture and "launch 2 of 2, step 2 of 2" in picture

    def test_a_bar_never_goes_back(self) -> None:
        """Protects "3/10" where a path hung: new processes measure what is left, of which each has a size."""
        measured = [event for index in range(2) for event in (size("host", index, 10), done("host", index))]
        hung = as_read([failure("host", 32, "hang", "stuck")])
        begun = [step_start("host", 0, 2), *measured, *hung, step_start("host", 0, 2)]
        assert "3/10" in self.live(80, begun)[0]
        goes_on = [*begun, size("host", 0, 7, 64), done("host", 3)]
        assert "4/10" in self.live(80, goes_on)[0]
        # A size that is measured once more is one size.
        assert "4/10" in self.live(80, [*goes_on, done("host", 3)])[0]

    def test_a_bar_waits_for_the_other_mpi(self) -> None:
        """Protects from 10/10 for a path whose first MPI crashed, and which another one measures from 0."""
        replaced = failure("aware", None, "unavailable", "crashed", "measured with Open MPI 5.0.11 instead")
        picture, _ = self.live(80, [step_start("aware", 0, 1), *as_read([replaced])])
        assert "10/10" not in picture
        assert "0/5" in self.live(80, [step_start("host", 0, 1), size("host", 0, 5)])[0]

    def test_nothing_is_drawn_before_the_first_event(self) -> None:
        assert self.live(80, [])[1] == ""


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
