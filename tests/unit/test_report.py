"""Beside the table: progress, the tutorial's lines, published curves, what to try next, the list of paths."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from support.records import as_read, console, end, entry, failure, figure, head, make_run, text_of

from wirespeed.errors import WirespeedError
from wirespeed.frontend import run_steps
from wirespeed.paths import TransferPath, all_paths, find_path
from wirespeed.report.export import tutorial
from wirespeed.report.export.formats import FORMATS
from wirespeed.report.systems import published_curves
from wirespeed.report.terminal import progress
from wirespeed.report.terminal.paths import PathState, print_paths
from wirespeed.report.terminal.survey import next_steps
from wirespeed.report.terminal.time_left import TimeLeft
from wirespeed.results.model import Event
from wirespeed.results.runs import Run, collect
from wirespeed.systems import FOLDER

SUMMIT = FOLDER / "summit_pingpong.csv"


class TestTutorial:
    def test_line(self) -> None:
        assert tutorial.line(8, 0.000000866) == (
            "Transfer size (B):          8, "
            "Transfer Time (s):     0.000000866, "
            "Bandwidth (GB/s):     0.008603442"
        )

    def test_summits_seconds_give_summits_bandwidths(self) -> None:
        with SUMMIT.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 84
        for row in rows:
            seconds, published = float(row["seconds_one_way"]), float(row["GiB_per_s"])
            printed = float(tutorial.line(int(row["bytes"]), seconds).split()[-1])
            # The published seconds are rounded to a nanosecond.
            assert printed == pytest.approx(published, rel=0.6e-9 / seconds, abs=1e-9)

    def test_one_block_a_path(self) -> None:
        run = make_run(entry("aware", 8, 1e-6), entry("host", 16, 1e-6), entry("host", 8, 1e-6))
        lines = tutorial.tutorial([run]).splitlines()
        assert [line.split(",")[0] for line in lines] == [
            "# host",
            "Transfer size (B):          8",
            "Transfer size (B):         16",
            "",
            "# aware",
            "Transfer size (B):          8",
        ]


class TestReference:
    def test_summit(self) -> None:
        summit = published_curves.load_system("summit")
        assert list(summit.curves) == ["host", "staged", "aware"]
        assert all(list(curve) == [1 << power for power in range(3, 31)] for curve in summit.curves.values())
        assert summit.curves["aware"][1 << 30].rate == pytest.approx(47.01e9, rel=1e-3)
        for curve in summit.curves.values():
            for size, point in curve.items():
                assert point.rate == pytest.approx(size / point.seconds, rel=0.6e-9 / point.seconds)

    def test_every_system_can_be_read(self) -> None:
        for name in published_curves.known_systems():
            assert published_curves.load_system(name).curves

    def test_unknown_systems_are_answered_with_the_known_ones(self) -> None:
        with pytest.raises(WirespeedError, match=r"there are: .*summit"):
            published_curves.load_system("frontier")

    @pytest.mark.parametrize("width", range(60, 130, 7))
    def test_ours_theirs_and_the_ratio(self, width: int) -> None:
        run = make_run(
            *(entry(path, 1 << 30, seconds) for path, seconds in (("host", 0.1), ("aware", 0.0025))),
            entry("host", 7, 1e-6),
        )
        screen = console(width)
        published_curves.print_against(screen, run, published_curves.load_system("summit"))
        text = text_of(screen)
        assert max(map(len, text.splitlines())) <= width
        rows = " ".join(" ".join(line.split()) for line in text.splitlines() if "1 GiB" in line)
        assert "10.7 13.6 12.7 0.79" in rows or "10.7 13.6 0.79" in rows
        assert "429 47.0 43.8 9.14" in rows or "429 47.0 9.14" in rows
        assert "7 B" not in text
        assert "as published" in text

    def test_nothing_in_common(self) -> None:
        screen = console(100)
        published_curves.print_against(
            screen, make_run(entry("host", 7, 1e-6)), published_curves.load_system("Summit")
        )
        assert (
            "There is no path and size in common; Summit has host, staged, aware, 8 B to 1 GiB."
            in text_of(screen)
        )


def step_start(path: str, done: int, total: int, *launches: int) -> Event:
    return run_steps.step_start(find_path(path), done, total, *launches)


def size(path: str, index: int, of: int = 2, bytes_: int = 0, **more: Any) -> Event:
    """A size begins, 8 B and twice as much each time, or goes on."""
    return {"kind": "progress", "path": path, "bytes": bytes_ or 8 << index, "index": index, "of": of, **more}


def done(path: str, index: int) -> Event:
    """The figure of that size."""
    return figure(path, 8 << index, 1e-6)


def planned(sizes: int) -> Event:
    """The run's first record, with so many sizes."""
    begun = head()
    begun["plan"]["sizes"] = [8 << index for index in range(sizes)]
    (found,) = as_read([begun])
    return found


class TestProgress:
    def test_plain_lines(self) -> None:
        stream = io.StringIO()
        lacking = failure("aware", None, "unavailable", "no GPU", "buy one")
        with progress.make_progress((), stream) as view:
            assert stream.getvalue() == ""
            view(step_start("host", 0, 1))
            view({"kind": "progress", "path": "host", "bytes": 65536, "index": 0, "of": 2})
            for event in as_read([entry("host", 65536, 8.52e-6), lacking]):
                view(event)
            view({"kind": "note", "text": "a word"})
        assert stream.getvalue().splitlines() == [
            "host      64 KiB   8.52 us    7.69 GB/s   ±0.4 %  120 samples  "
            "[path 1 of 1, 0:00 so far, about 0:00 left]",
            "aware: not available: no GPU; buy one",
            "a word",
        ]

    def plain(self, events: Sequence[tuple[float, Event]]) -> list[str]:
        """What a pipe shows in brackets, after (seconds that pass, event)."""
        now, screen = [0.0], console(200)
        view = progress.Progress(screen, clock=lambda: now[0])
        for seconds, event in events:
            now[0] += seconds
            view(event)
        return re.findall(r"\[(.*)\]", text_of(screen))

    def test_a_pipe_shows_the_time_that_is_left(self) -> None:
        """Protects from a number without a basis: sizes and starts of ranks to come last as those before did.

        Two paths, two sizes each. The first step took 10 s to start its ranks, and 1 s for each size. Of the
        paths to come two in three are expected to give figures.
        """
        assert self.plain(
            [
                (0, step_start("host", 0, 2)),
                (10, size("host", 0)),
                (1, figure("host", 8, 1e-6)),
                (0, size("host", 1)),
                (1, figure("host", 16, 1e-6)),
                (0, step_start("staged", 1, 2)),
                (10, size("staged", 0)),
                (1, figure("staged", 8, 1e-6)),
            ],
        ) == [
            "path 1 of 2, 0:11 so far, about 0:10 left",
            "path 1 of 2, 0:12 so far, about 0:09 left",
            "path 2 of 2, 0:23 so far, about 0:01 left",
        ]

    def test_large_sizes_are_expected_to_take_longer(self) -> None:
        """Protects from "about 0:03 left" before the half of a run: its largest messages come last."""
        now, screen = [0.0], console(200)
        view = progress.Progress(screen, clock=lambda: now[0])
        begins = size("host", 0, 3, needs=[8, 16, 1 << 30])
        for event in (step_start("host", 0, 1), begins, figure("host", 8, 1e-6)):
            view(event)
            now[0] += 1
        view(figure("host", 16, 1e-6))
        # A size of 1 GiB takes 17 s, and 5 s go by at its end.
        assert "0:03 so far, about 0:22 left" in text_of(screen)

    def left(self, *events: tuple[float, Event]) -> float | None:
        """Seconds that are left after (seconds that pass, event)."""
        now = [0.0]
        time_left = TimeLeft(lambda: now[0])
        for seconds, event in events:
            now[0] += seconds
            assert isinstance(event, dict)
            time_left.begin()
            match event["kind"]:
                case "step-start":
                    time_left.step(event)
                case "progress":
                    time_left.size(event)
                case "step-end":
                    time_left.step_ended()
                case "done":
                    time_left.size_done(event["bytes"])
                case "failed":
                    time_left.step_failed()
        return time_left.remaining

    def test_sizes_that_take_turns_are_done_together(self) -> None:
        """Protects from "12:47 left" at 5 s of 11: the first of ten figures took as long as all."""
        begins = [(0.0, size("host", index, 20)) for index in range(10)]
        figures = [(0.1 if index else 4.0, {"kind": "done", "bytes": 8 << index}) for index in range(10)]
        start = (1.0, step_start("host", 0, 1))
        soon, later = self.left(start, *begins, figures[0]), self.left(start, *begins, *figures)
        assert soon is not None and 4 < soon < 8 and later is not None and 4 < later < 6

    def test_a_size_that_lasts_makes_the_rest_last(self) -> None:
        """Protects from an estimate that stands still: 1 GiB takes 40 s, so 2 GiB do not take one."""
        needs = [8, 1 << 30, 2 << 30]
        events = [
            (0.0, step_start("host", 0, 1)),
            (0.0, size("host", 0, 3, needs=needs)),
            (0.1, {"kind": "done", "bytes": 8}),
            (0.0, size("host", 1, 3)),
        ]
        early = self.left(*events)
        late = self.left(*events, (40.0, size("host", 1, 3, samples=3)))
        assert early is not None and late is not None and early < 8 and 60 < late < 120

    def test_phases_tell_how_far_a_size_is(self) -> None:
        """Protects pairs of many ranks, whose one size is nearly the whole run."""
        first = [
            (0.0, step_start("host", 0, 1)),
            (0.0, size("host", 0, 2)),
            (9.0, {"kind": "done", "bytes": 8}),
        ]
        half = {"phase": 5, "phases": 10}
        left = self.left(*first, (0.0, size("host", 1, 2)), (20.0, size("host", 1, 2, **half)))
        assert left is not None and 20 <= left < 25

    def test_counting_takes_time(self) -> None:
        """Protects from "0:00 left" while bytes are counted, and from that time in the next path's sizes."""
        path = [(0.0, size("host", 0, 1)), (10.0, {"kind": "done", "bytes": 8})]
        begun = [(0.0, step_start("host", 0, 2)), *path]
        assert self.left((0.0, step_start("host", 0, 1)), *path) == pytest.approx(3)
        again = self.left(*begun, (5.0, run_steps.step_end()), (0.0, step_start("staged", 1, 2)), *path)
        assert again == pytest.approx(5)

    def test_runs_that_follow_take_time(self) -> None:
        """Protects --ranks 2,4,8 from "0:00 left" at the end of the first of three runs."""
        screen, now = console(200), [0.0]
        view = progress.Progress(screen, lambda: now[0], further=2)
        view(step_start("host", 0, 1))
        view(size("host", 0, 1))
        now[0] = 10
        view(done("host", 0))
        assert "about 0:29 left" in text_of(screen)

    def test_another_mpi_begins_anew(self) -> None:
        """Protects from "0:00 left" before all sizes: the first MPI failed, and the next one has them all."""
        path = [(0.0, step_start("aware", 0, 1)), (0.0, {"kind": "failed"})]
        again = [(0.0, size("aware", 0, 9)), (1.0, {"kind": "done", "bytes": 8})]
        assert self.left(*path, *again) == pytest.approx(8.3)

    def test_a_pipe_hears_of_a_silence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects from a thread that does not run, or speaks elsewhere: nothing calls it but the time."""
        monkeypatch.setattr(progress, "SILENCE", 0.01)
        read, write = os.pipe()
        with (
            os.fdopen(read) as reader,
            os.fdopen(write, "w") as writer,
            progress.make_progress((), writer) as view,
        ):
            view(step_start("host", 0, 1))
            assert reader.readline().startswith("host: ranks start  [path 1 of 1")

    def test_a_long_size_is_not_silent(self) -> None:
        """Protects from a pipe that is silent for a minute, and from words where lines come anyway."""
        now, screen = [0.0], console(200)
        view = progress.Progress(screen, clock=lambda: now[0])
        view.speak()
        view(step_start("host", 0, 1))
        now[0] = 4.9
        view.speak()
        assert text_of(screen) == ""
        now[0] = 5.0
        view.speak()
        view({"kind": "progress", "path": "host", "bytes": 8, "index": 0, "of": 2, "samples": 12})
        now[0] = 9.9
        view.speak()
        now[0] = 10.0
        view.speak()
        assert text_of(screen).splitlines() == [
            "host: ranks start  [path 1 of 1, 0:05 so far]",
            "host  8 B: 12 samples  [path 1 of 1, 0:10 so far]",
        ]

    def test_a_pipe_names_the_launch(self) -> None:
        assert self.plain([(0, step_start("host", 4, 9, 2, 3)), (0, figure("host", 8, 1e-6))]) == [
            "launch 2 of 3, step 5 of 9, 0:00 so far"
        ]

    def test_sizes_of_a_path_that_failed_take_no_time(self) -> None:
        lost = as_read([failure("host", None, "crash", "gone")])
        shown = self.plain(
            [
                (0, step_start("host", 0, 1)),
                (0, size("host", 0, 9)),
                (1, figure("host", 8, 1e-6)),
                *((0, event) for event in lost),
                (0, figure("host", 8, 1e-6)),
            ],
        )
        assert shown[-1] == "path 1 of 1, 0:01 so far, about 0:00 left"

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
                {
                    "kind": "progress",
                    "path": "host",
                    "bytes": 131072,
                    "index": 1,
                    "of": 10,
                    "samples": 300,
                    "precision": 0.025,
                },
            ],
        )
        assert max(map(len, picture.splitlines())) <= width
        assert "1/10" in picture and "8.52 us" in picture
        assert "waiting" in picture
        if width >= 80:
            assert "7.69 GB/s  now 128 KiB, 300 samples ±2.5 %" in picture
        # A size took one second of four, as did the start; of the next one a second is over. Two in three
        # paths give figures.
        assert "path 1 of 2, 0:04 so far, about 0:17 left" in " ".join(picture.split())

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
        assert "about 0:00 left" in picture

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

    def test_strange_events_do_no_harm(self) -> None:
        self.live(80, [{"kind": "progress"}, {"kind": "step-start"}, {"kind": "what"}, {}])

    def test_nothing_is_drawn_before_the_first_event(self) -> None:
        assert self.live(80, [])[1] == ""


class TestNextSteps:
    def commands(self, run: Run, gpus: int = 0, mpis: Sequence[Any] = (), **environment: str) -> list[str]:
        return [step.command for step in next_steps(run, "a b.jsonl", gpus, mpis, environment)]

    def test_they_fit_the_machine(self) -> None:
        run = make_run(entry("host", 8, 1e-6))
        assert "wirespeed pingpong --device emulated" in self.commands(run)
        assert "wirespeed show 'a b.jsonl'" in self.commands(run)
        assert "wirespeed pingpong --between 0,3" in self.commands(run, gpus=4)
        assert "wirespeed pingpong --device emulated" not in self.commands(run, gpus=1)
        mpis = [SimpleNamespace(prefix=f"/{title}", title=title) for title in ("a", "a", "b")]
        assert "wirespeed pingpong --mpi /b" in self.commands(run, mpis=mpis)
        assert "srun -N 2 -n 2 wirespeed pingpong" in self.commands(run, SLURM_NNODES="4")
        assert "srun -N 2 -n 2 wirespeed pingpong" not in self.commands(run, SLURM_NNODES="x")

    def test_they_measure_where_the_survey_did(self) -> None:
        """A copied command must not go back to another MPI, or from emulated GPUs to none."""
        first = head()
        first["plan"] |= {"device": "emulated", "mpi": "/opt/my mpi", "hosts": ["n1", "n2"]}
        run = make_run(first, entry("host", 8, 1e-6, stopped="max-time"))
        mpis = [SimpleNamespace(prefix=f"/{title}", title=title) for title in ("a", "b")]
        where = "--device emulated --mpi '/opt/my mpi' --hosts n1,n2"
        assert self.commands(run, 4, mpis, SLURM_NNODES="2") == [
            f"wirespeed pingpong --paths host --sizes 8 --max-time 2 {where}",
            f"wirespeed pingpong --against summit {where}",
            "srun -N 2 -n 2 wirespeed pingpong --device emulated --mpi '/opt/my mpi'",
            f"wirespeed pingpong --between 0,3 {where}",
            "wirespeed pingpong --mpi /b --device emulated",
        ]
        assert self.commands(run)[-1] == f"wirespeed pingpong --paths all {where}"

    def test_no_suggestion_is_too_long_to_read(self) -> None:
        """Protects the list of suggestions from a line with every size and path of a noisy machine."""
        run = make_run(
            *(
                entry(path, 1 << power, 1e-6, stopped="max-time")
                for path in ("host", "staged", "aware", "nccl", "nccl-stream", "nccl-nop2p", "ipc-write")
                for power in range(31)
            )
        )
        assert self.commands(run)[0] == (
            "wirespeed pingpong --paths host,staged,aware,nccl,nccl-stream,nccl-nop2p,ipc-write --max-time 2"
        )

    def test_unsettled_figures_come_first(self) -> None:
        run = make_run(
            *(entry("host", size, 1e-6, stopped="max-time") for size in (8, 4096, 1 << 20)),
            entry("host", 9, 1e-6),
        )
        assert self.commands(run)[0] == "wirespeed pingpong --paths host --sizes 8,4K,1M --max-time 2"


class TestPaths:
    @pytest.mark.parametrize("width", [40, 60, 80, 140])
    def test_every_path_and_what_it_lacks(self, width: int) -> None:
        screen = console(width)
        lacks = "no GPU (cuda: libcuda.so.1 not found; hip: libamdhip64.so.6 not found)"
        print_paths(screen, [PathState(path, lacks if path.needs_device else None) for path in all_paths()])
        text = text_of(screen)
        assert max(map(len, text.splitlines())) <= width
        for path in all_paths():
            assert re.search(
                rf"^{path.name} +{'not ' if path.needs_device else ''}available", text, re.MULTILINE
            )

    def test_groups_and_switches(self) -> None:
        """Protects the list of sixteen paths from being a heap: alike ones stand under one title."""
        paths = (
            TransferPath("gpu", "kernels", "gpu", "device", order=90),
            TransferPath(
                "aware-nogdr", "as aware", "mpi", "device", variables={"A": "1"}, without="aware", order=5
            ),
            TransferPath("staged-pipelined", "pieces", "staged", "device", order=22),
            TransferPath("rma-host", "puts", "rma", "pageable", default=False, order=80),
            TransferPath("nccl", "NCCL", "nccl", "device", order=40),
        )
        screen = console(100)
        print_paths(screen, [PathState(path, None) for path in paths])
        listed, _, planned = text_of(screen).partition("AMD GPUs: ")
        assert "not yet run on one" in " ".join(planned.split()) and "by Level Zero planned" in planned
        lines = [line.rstrip() for line in listed.splitlines()]
        assert [line.split("  ")[0] for line in lines if line] == [
            *("Between host buffers", "rma-host"),
            *("GPU to GPU, through host memory", "staged-pipelined"),
            *("GPU to GPU, by libraries", "aware-nogdr", "nccl"),
            *("GPU to GPU, by wirespeed's own copies and kernels", "gpu"),
        ]
        assert "as aware; aware with A=1" in text_of(screen)
        assert "puts; only when named" in text_of(screen)


def test_json_is_every_record() -> None:
    stream = io.StringIO()
    FORMATS["json"](
        collect([*as_read([head(), entry("host", 8, 1e-6), end()]), {"kind": "progress"}]), stream, None
    )
    assert [record["kind"] for record in json.loads(stream.getvalue())] == ["run", "entry", "end"]
    stream = io.StringIO()
    FORMATS["json"]([], stream, None)
    assert json.loads(stream.getvalue()) == []
