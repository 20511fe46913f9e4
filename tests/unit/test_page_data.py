"""What a report page holds, without a browser: data, verdict, and that no text becomes code."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import report_files as made
from support.examples import examples
from support.measured import lines as lines_of

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts import best
from wirespeed.report.page import read_sources, render
from wirespeed.report.page.notes import notes
from wirespeed.report.page.styles import DARK, FAMILIES, LIGHT, styles
from wirespeed.report.sources import ReportRun, measured

RESULTS = Path(__file__).parents[2] / "results"
REAL = sorted(map(str, RESULTS.glob("*.jsonl*")))


def page_of(*files: str) -> str:
    return render(*read_sources(files))


def data_of(page: str) -> dict[str, Any]:
    """The page's one JSON block."""
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found: dict[str, Any] = json.loads(block)
    return found


def sets_of(*files: str) -> list[ReportRun]:
    return measured(read_sources(files)[0])


def said(*files: str) -> str:
    sources, _ = read_sources(files)
    found = notes(measured(sources))
    return "\n".join(f"{one.level}: {one.text}" for note in found for one in note.sentences)


@pytest.fixture(scope="module")
def page() -> str:
    """Of all real files."""
    return page_of(*REAL)


class TestRealFiles:
    """What two H200s gave: protects that a reader finds every figure of a file, and nothing else."""

    def test_every_entry_is_a_point(self, page: str) -> None:
        lines = (line for file in REAL for line in lines_of(Path(file)))
        records = [one for line in lines if (one := json.loads(line))["kind"] == "entry"]
        entries = [one for one in records if not one.get("program")]  # those have bars
        points = sum(len(one["bytes"]) for chart in data_of(page)["charts"] for one in chart["series"])
        assert points == len(entries) > 400

    def test_figures_are_the_file_s(self, page: str) -> None:
        (line,) = [
            line
            for line in (RESULTS / "h200-x2-pingpong.jsonl").read_text().splitlines()
            if '"path":"aware","memory":"device","bytes":1073741824' in line
        ]
        seconds = json.loads(line)["seconds"]
        data = data_of(page)
        labels = [one["label"] for one in data["sets"]]
        (series,) = [
            one
            for chart in data["charts"]
            for one in chart["series"]
            if one["path"] == "aware" and labels[one["set"]] == "h200-x2-pingpong"
        ]
        place = series["bytes"].index(1 << 30)
        assert series["seconds"][place] == pytest.approx(seconds["median"], rel=1e-5)
        assert series["low"][place] == pytest.approx(seconds["low"], rel=1e-5)
        assert series["limit"] == 450e9

    def test_parts(self, page: str) -> None:
        data = data_of(page)
        charts = [chart["pattern"] for chart in data["charts"]]
        assert charts[0] == "pingpong" and set(charts) > {
            "exchange",
            "groups",
            "ring",
            "halo",
            "stream",
            "copy",
        }
        assert data["matrices"]
        assert "Summit" in {one["system"] for one in data["charts"][0]["published"]}
        assert {(one["without"], one["what"]) for one in data["prices"]} == {
            ("aware-nogdr", "GPUDirect"),
            ("nccl-nop2p", "GPUDirect"),
        }
        for part in (
            "Best path for each size",
            "What GPUDirect is worth",
            "NVIDIA H200",
        ):
            assert part in page
        # Where another MPI took over, nothing is lacking.
        assert "What gave no figure" not in page
        assert all(f"<h2>{part}" in page for part in ("Which wires", "Findings", "All pairs"))

    def test_small(self, page: str) -> None:
        """A page goes by mail: no histograms, no samples, no library."""
        assert len(page) < 750_000 and "histogram" not in data_of(page)

    def test_verdict(self) -> None:
        text = said(str(RESULTS / "h200-x2-paths.jsonl.gz"))
        assert re.search(r"note: aware: 39\d GB/s at 1 GiB; 88 % of limit", text)
        assert "good: GPU-aware MPI: yes, Open MPI 5.0.11" in text and "the copies are direct" in text
        assert re.search(r"fastest for GPU data: gpu .*for 8 B to 16 MiB.*ipc-write .*1 GiB", text)
        assert "aware without GPUDirect (aware-nogdr): takes up to ~9.72 times" in text
        assert "Open MPI 4.1.6 crashed on a device pointer" in text

    def test_two_speeds(self) -> None:
        """Protects from one median where none was measured: staged-pipelined switched, again and again."""
        text = said(str(RESULTS / "default" / "h200-x2-budget-2.jsonl.gz"))
        assert "two speeds by turns: staged-pipelined at 8 KiB, 14.9 us or 19.5 us, and 3 more" in text


class TestMadeFiles:
    def test_all_parts(self, tmp_path: Path) -> None:
        page = page_of(*made.everything(tmp_path))
        data = data_of(page)
        assert [chart["pattern"] for chart in data["charts"]] == ["pingpong", "copy", "groups", "pairs"]
        assert [one["label"] for one in data["sets"]] == [
            *("n1", "n2", "many"),
            *("8 ranks, group 4", "8 ranks, group 2", "4 ranks, group 2", "many"),
        ]
        assert [len(one["cells"]) for one in data["matrices"]] == [28, 28]
        assert {wire["kind"] for wire in data["wires"][0]["wires"]} == {"nvlink", "pcie"}
        # On one scale: the limit of groups of four, 1800 GB/s, is its end, that of groups of two half of it.
        assert re.findall(r"left:([\d.]+)%", page) == ["100.0", "50.0", "50.0"]
        for part in (
            "n1, n2",
            "UCX without CUDA",
            "pip install libucx-cu13",
            "direct over NVLink",
            "42.3 GB/s with",
        ):
            assert part in page

    def test_one_colour_a_path(self, tmp_path: Path) -> None:
        """A path looks the same in every chart, bar and table, whatever else is on the page."""
        alone = styles(["aware"])["aware"]
        assert styles(["zzz", "aware", "host"])["aware"] == alone
        data = data_of(page_of(*made.everything(tmp_path)))
        assert data["paths"]["aware"] == {"hue": alone.hue, "dash": alone.dashes}
        several = styles(["aware", "aware-nogdr", "host", "staged", "nccl"]).values()
        seen = [(one.hue, one.dashes) for one in several]
        assert len(set(seen)) == len(seen)

    def test_many_algorithms_have_colours_of_their_own(self) -> None:
        """Protects an all-reduce's chart from 16 green curves, of which six look alike."""
        kinds = ("direct", "doubling", "graph", "one-shot", "registered", "ring", "symmetric")
        names = [
            base + kind for base in ("nccl", "nccl-stream") for kind in ("", *(f":{one}" for one in kinds))
        ]
        names += [f"gpu:{kind}" for kind in ("direct", "doubling", "one-shot", "ring")]
        found = styles(names)
        assert len({(one.hue, one.dashes) for one in found.values()}) == len(names)
        assert max(Counter(one.hue for one in found.values()).values()) <= 6
        assert found["nccl:ring"].hue == found["nccl-stream:ring"].hue
        assert found["nccl"] == styles(["nccl"])["nccl"]

    def test_an_aware_path_that_stages_is_found_out(self, tmp_path: Path) -> None:
        slow = [made.head(), made.step("aware"), *made.curve("aware", 9e-6, 2e10), made.end()]
        warned = "warning: GPU-aware MPI: Open MPI 5.0.11 takes device pointers"
        assert warned in said(made.write(tmp_path / "a", *slow))
        seen = [made.entry("aware", 1 << 20, 1e-4), made.evidence("aware", 1 << 20, "staged")]
        text = said(made.write(tmp_path / "b", made.head(), made.step("aware"), *seen, made.end()))
        assert "warning: " in text and "staged through host memory" in text

    def test_figures_above_the_limit_are_called_impossible(self, tmp_path: Path) -> None:
        records = [made.head(), made.step("aware"), *made.curve("aware", 1e-9, 9e11), made.end()]
        text = said(made.write(tmp_path / "a", *records))
        assert re.search(r"bad: aware at 1 GiB: impossible: 900 GB/s .* is 200 % of the limit, 18", text)
        assert "warning: trust: no" in text

    def test_a_promise_that_the_wires_deny(self, tmp_path: Path) -> None:
        denied = made.evidence("aware", 8, "staged", suspicious="aware was to go straight")
        records = [made.head(), made.step("aware"), made.entry("aware", 8, 1e-6), denied, made.end()]
        assert "bad: aware was to go straight (at 8 B)." in said(made.write(tmp_path / "a", *records))

    def test_wires_are_coloured_by_what_they_carried(self, tmp_path: Path) -> None:
        """Protects the drawing's claim: background is not payload, and a wire that was idle is shown so."""
        (drawing, _) = data_of(page_of(*made.everything(tmp_path)))["wires"]
        kinds = [wire["kind"] for wire in drawing["wires"]]
        case = next(one for one in drawing["cases"] if (one["path"], one["bytes"]) == ("aware", 8))
        shares = {kinds[place]: share for place, *_, share in case["carried"]}
        assert shares["nvlink"] == pytest.approx(1) and shares["pcie"] == pytest.approx(1 / 400)

    def test_idle_interfaces_are_not_drawn(self, tmp_path: Path) -> None:
        """A machine has many; one that carried the bytes is drawn, and keeps its own figures."""
        seen = made.evidence("host", 1 << 20, "network")
        idle = {
            "kind": "loopback",
            "host": "n1",
            "name": "lo",
            "sent": 0,
            "received": 0,
            "expected_sent": 1 << 20,
        }
        busy = {**idle, "kind": "network", "name": "eth0", "sent": 1 << 20}
        seen["wires"] = [idle, busy]
        records = [made.head(), made.step("host"), made.entry("host", 1 << 20, 1e-3), seen, made.end()]
        (drawing,) = data_of(page_of(made.write(tmp_path / "a", *records)))["wires"]
        assert [wire["name"] for wire in drawing["wires"]] == ["eth0"]
        assert drawing["cases"][0]["carried"] == [[0, 1 << 20, 0, 0, 1.0]]

    def test_spans_change_as_rarely_as_the_intervals_allow(self, tmp_path: Path) -> None:
        """Two paths that are as fast at some sizes must not make a reader switch there and back."""
        times = {8: (1.0, 1.001), 16: (1.001, 1.0), 32: (1.0, 1.0), 64: (2.0, 1.0)}
        records: list[Any] = [made.head(), made.step("aware"), made.step("nccl")]
        for size, (one, other) in times.items():
            records += [made.entry("aware", size, one), made.entry("nccl", size, other)]
        ((measured_run,), home) = (sets_of(made.write(tmp_path / "a", *records)), "GPU")
        (span,) = best.spans(measured_run.run, home)
        assert (span.path, span.equals, len(span.entries)) == ("nccl", (), 4)


class TestHostileFiles:
    def test_text_stays_text(self, tmp_path: Path) -> None:
        """A name in a result file must not end the script block, start another, or become a tag."""
        plain = page_of(made.write(tmp_path / "plain", *made.pingpong(), made.doctor()))
        page = page_of(made.write(tmp_path / "hostile", *made.hostile()))
        for mark in ("<script", "</script", "<img"):
            assert page.count(mark) == plain.count(mark)
        assert "\x1b" not in page and "\u2028" not in page
        assert made.HOSTILE[:40] in json.dumps(data_of(page), ensure_ascii=False)

    def test_nothing_is_fetched_and_only_our_script_runs(self) -> None:
        page = page_of(REAL[0])
        assert "default-src 'none'" in page and "script-src 'sha256-" in page
        assert not re.search(r"(src|href)=\"(?!data:)", page)
        assert "http:" not in re.sub(r"http://www.w3.org/2000/svg", "", page)

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )

    @examples(40)
    @given(number=st.integers(0, 40), depth=st.integers(0, 5), value=json_values, seed=st.randoms())
    def test_any_value_anywhere(self, tmp_path: Path, number: int, depth: int, value: Any, seed: Any) -> None:
        """Somebody else's file with any JSON in any place gives a page, or one line that says why not."""
        records = json.loads(json.dumps([*made.pingpong(), made.doctor()]))
        inside: Any = records[number % len(records)]
        for _ in range(depth):
            choices = [one for one in inside.values() if isinstance(one, dict) and one]
            if not choices:
                break
            inside = seed.choice(choices)
        inside[seed.choice(sorted(inside))] = value
        file = made.write(tmp_path / "fuzzed.jsonl", *records)
        try:
            page = page_of(file)
        except WirespeedError:
            return
        data_of(page)


class TestFiles:
    def test_damaged_lines_are_named_and_the_rest_is_used(self, tmp_path: Path) -> None:
        file = Path(made.write(tmp_path / "a.jsonl", *made.pingpong()))
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join([*lines[:6], "garbage\n", *lines[6:-1], lines[-1][:40]]))
        page = page_of(str(file))
        assert "line 7: damaged, left out" in page and "cut off, left out" in page
        assert sum(len(one["bytes"]) for one in data_of(page)["charts"][0]["series"]) == 4 * len(made.SIZES)

    def test_newer_files_are_read_as_far_as_they_go(self, tmp_path: Path) -> None:
        records = made.pingpong()
        records[0]["schema"] = 99
        page = page_of(made.write(tmp_path / "a.jsonl", *records, {"kind": "novelty", "run": "r"}))
        assert "written by a newer wirespeed" in page and data_of(page)["charts"]

    def test_files_that_cannot_be_read_do_not_cost_the_others(self, tmp_path: Path) -> None:
        good = made.write(tmp_path / "good.jsonl", *made.pingpong())
        bad = tmp_path / "bad.jsonl"
        bad.write_text("no such thing\n")
        sources, lost = read_sources([str(bad), good, str(tmp_path / "none"), good])
        assert [source.file for source in sources] == [good]
        assert len(lost) == 2 and "is not a result file" in lost[0] and "No such file" in lost[1]
        assert "is not a result file" in render(sources, lost)

    def test_no_file_at_all_is_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(WirespeedError, match="No such file") as caught:
            read_sources([str(tmp_path / "none")])
        assert caught.value.code == ExitCode.CANNOT_WRITE

    def test_a_run_without_figures(self, tmp_path: Path) -> None:
        file = made.write(tmp_path / "a.jsonl", made.head(), made.end())
        assert "These files contain no figures." in page_of(file)
        assert "These files contain no figures." in markdown(read_sources([str(file)])[0])

    def test_a_run_that_was_killed_says_so(self, tmp_path: Path) -> None:
        assert "ended before all was measured" in said(
            made.write(tmp_path / "a.jsonl", *made.pingpong()[:-1])
        )

    def test_a_resumed_run_is_one(self, tmp_path: Path) -> None:
        """Protects both: what was added later is not another run; what was measured again is."""
        head = made.head("again", resume=True)
        again = [head, made.step("gpu", "again"), *made.curve("gpu", 1e-6, 1e11, "again")]
        (one,) = sets_of(made.write(tmp_path / "a.jsonl", *made.pingpong(), *again, made.end("again")))
        assert {"host", "gpu"} <= set(one.run.paths)
        repeated = made.write(tmp_path / "b.jsonl", *made.pingpong(), *again, *made.pingpong("third"))
        assert [len(one.run.paths) for one in sets_of(repeated)] == [5, 4]

    def test_files_before_and_after_stay_two(self, tmp_path: Path) -> None:
        files = [made.write(tmp_path / f"{name}.jsonl", *made.pingpong()) for name in ("before", "after")]
        assert [one.label for one in sets_of(*files)] == ["before", "after"]

    def test_labels_are_unique(self, tmp_path: Path) -> None:
        records = [record for run in "ab" for record in made.pingpong(run)]
        labels = [one.label for one in sets_of(made.write(tmp_path / "a.jsonl", *records))]
        assert labels == ["a (1)", "a (2)"]


# What colour-blind eyes see of linear RGB, severity 1.0: Machado, Oliveira and Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15 (2009).
EYES = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}


def linear(colour: str) -> list[float]:
    """Linear RGB from sRGB."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def seen_as(colour: str, eye: str) -> tuple[float, float, float]:
    """CIE 1976 L*a*b*, D65."""
    rgb = linear(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(part * share for part, share in zip(rgb, row, strict=True))))
        for row in EYES[eye]
    )
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize(
    ("colours", "grounds"), [(LIGHT, ("#ffffff", "#f6f8fa")), (DARK, ("#12161c", "#1b2129"))]
)
def test_colours_can_be_seen_and_told_apart(colours: tuple[str, ...], grounds: tuple[str, ...]) -> None:
    """WCAG 2.2 asks for 3 : 1 between the lines of a chart and their ground.

    A difference of 2.3 can just be seen side by side; curves lie apart, so it must be several times that.
    """
    css = (Path(__file__).parents[2] / "wirespeed/report/page/page.css.j2").read_text()
    assert all(ground in css for ground in grounds)
    assert min(contrast(colour, ground) for colour in colours for ground in grounds) >= 3
    assert len(colours) == len(FAMILIES)
    for eye in EYES:
        seen = [seen_as(colour, eye) for colour in colours]
        assert min(math.dist(*pair) for pair in combinations(seen, 2)) > 18, eye


def test_the_doctor_s_last_word_counts(tmp_path: Path) -> None:
    records = *made.pingpong(), {"kind": "doctor", "findings": [{"title": "old"}]}, made.doctor()
    (source,), _ = read_sources([made.write(tmp_path / "a", *records)])
    assert [one.title for one in source.findings] == ["UCX without CUDA"]
