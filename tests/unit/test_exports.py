"""Exports, read back by the programs that they are for: the same numbers, nothing lost, nothing twice."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from prometheus_client.parser import text_string_to_metric_families
from support.examples import examples
from support.measured import measured, result
from support.records import as_read, end, entry, head, make_run

import wirespeed
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.report.export.formats import TEXTS
from wirespeed.report.facts.machine import title
from wirespeed.results.parts import Environment
from wirespeed.results.reading import read
from wirespeed.results.runs import Run, collect

RESULTS = sorted(Path(__file__).parents[2].glob("results/*.jsonl*"))
Record = dict[str, Any]

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)
FIGURES = st.dictionaries(
    st.tuples(st.sampled_from(["host", "aware", "staged"]), st.integers(0, 1 << 40)),
    st.floats(1e-9, 1e5),
    min_size=1,
    max_size=8,
)


def export(name: str, *runs: Run) -> str:
    return TEXTS[name](runs, ())


def samples(text: str) -> dict[str, dict[tuple[str, str], Any]]:
    """Metric -> (path, bytes) -> value, by Prometheus' own parser."""
    found: dict[str, dict[tuple[str, str], Any]] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge" and family.documentation.endswith(".")
        for sample in family.samples:
            key = (sample.labels["path"], sample.labels["bytes"])
            assert key not in found.setdefault(sample.name, {}), (
                "the collector refuses a file with a figure twice"
            )
            found[sample.name][key] = sample
    return found


def osu_blocks(text: str) -> dict[tuple[str, str], dict[int, float]]:
    """As scripts read OSU's output: the head names the column, lines of two numbers are data."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    path, column = "", ""
    for line in text.splitlines():
        if title := re.match(r"# wirespeed \S+, path (\S+) ", line):
            path = title[1]
        elif line.startswith("# Size"):
            column = line.split(None, 2)[2]
            found[path, column] = {}
        elif line and not line.startswith("#"):
            size, value = line.split()
            found[path, column][int(size)] = float(value)
    return found


@examples(30)
@given(FIGURES, TEXT)
def test_the_same_numbers_are_read_back(figures: dict[tuple[str, int], float], host: str) -> None:
    """By Prometheus' own parser, by scripts that read OSU's tables, and by ReFrame's sn.extractsingle."""
    run = make_run(*(entry(path, size, seconds) for (path, size), seconds in figures.items()))
    run.head = structs.replace(run.head, environment=Environment(host=host))
    found, osu, lines_ = (
        samples(export("prometheus", run)),
        osu_blocks(export("osu", run)),
        export("reframe", run),
    )
    rates = found.get("wirespeed_bandwidth_bytes_per_second", {})
    for (path, size), seconds in figures.items():
        key = path, str(size)
        labels = found["wirespeed_time_seconds"][key].labels
        assert labels["host"] == host and labels["pattern"] == "pingpong"
        assert found["wirespeed_time_seconds"][key].value == seconds
        assert found["wirespeed_time_low_seconds"][key].value == seconds * 0.996
        assert (rates[key].value if size else 0) == size / seconds
        assert osu[path, "Latency (us)"][size] == pytest.approx(seconds * 1e6, rel=1e-5)
        # The pattern of examples/reframe_check.py.
        pattern = rf"^wirespeed: pattern=pingpong path={path} .*bytes={size} .*latency_us=(?P<us>\S+)"
        (line,) = re.finditer(pattern, lines_, re.MULTILINE)
        assert float(line["us"]) == pytest.approx(seconds * 1e6, rel=1e-8)
        if size:
            rate = re.search(rf"path={path} memory=\S+ bytes={size} .*bandwidth_GBps=(\S+)", lines_)
            assert rate and float(rate[1]) == pytest.approx(size / seconds / 1e9, rel=1e-8)
            in_osu = osu[path, "Bandwidth (MB/s)"][size]
            assert in_osu == pytest.approx(size / seconds / 1e6, rel=1e-5, abs=1e-12)


class TestPrometheus:
    @pytest.mark.parametrize("file", measured("*.jsonl*"))
    def test_measured_files(self, file: Path) -> None:
        results = read(file)
        text = export("prometheus", *collect(results.records))
        series = {
            tuple(sorted(sample.labels.items()))
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "wirespeed_time_seconds"
        }
        one_plan = len({run.plan for run in results.runs}) == 1
        assert len(series) == len({(e.path, e.bytes) for e in results.entries}) or not one_plan
        assert text.endswith("\n")

    @pytest.mark.parametrize(
        "date", ["9999-99-99T00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59-14:00"]
    )
    def test_a_date_that_is_none_is_left_out(self, date: str) -> None:
        """Protects from an OverflowError where a file has a date that lies outside of every calendar."""
        (run,) = collect(as_read([{**head(), "started": date}, entry("host", 8, 2e-6, at=date), end()]))
        assert title(run) == "pingpong on n1"
        assert "timestamp" not in export("prometheus", run) and date in export("json", run)


class TestTables:
    def test_units_are_in_the_names(self) -> None:
        file = result("h200-x2-pingpong")
        table = wirespeed.load(file).table()
        assert {"median_s", "bandwidth_Bps", "bytes"} <= set(table)
        assert np.allclose(table["bytes"] / table["median_s"], table["bandwidth_Bps"])

    def test_a_frame_without_pandas_is_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(WirespeedError, match="pip install pandas") as caught:
            wirespeed.load(RESULTS[0]).frame()
        assert caught.value.code == ExitCode.UNAVAILABLE

    def test_a_frame(self) -> None:
        pandas = pytest.importorskip("pandas")
        results = wirespeed.load(RESULTS[0])
        frame = results.frame()
        assert isinstance(frame, pandas.DataFrame) and len(frame) == len(results.entries)
        assert list(frame.columns) == list(results.table())
        assert frame["median_s"].tolist() == [one.seconds for one in results.entries]


def test_the_documented_patterns_find_what_they_are_for() -> None:
    """Protects examples/reframe_check.py: its regular expressions, on the lines that docs/report.md shows."""
    root = Path(__file__).parents[2]
    text = (root / "docs" / "report.md").read_text()
    patterns = re.findall(r'r"(.+?)"', (root / "examples" / "reframe_check.py").read_text())
    assert len(patterns) == 3
    found = [re.search(pattern, text, re.MULTILINE) for pattern in patterns]
    assert all(found)
    assert [match[1] for match in found[1:] if match] == ["8.174", "394.535263"]
