"""A figure beside its baseline: the share, its interval, and where each output has it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from support.checks import Check, site, write
from support.records import as_read, end, entry, figure, head, make_run, shown, step

from wirespeed.errors import ExitCode
from wirespeed.report.check.learn import learn
from wirespeed.report.export.formats import FORMATS
from wirespeed.report.export.markdown import markdown
from wirespeed.report.facts.baselines import ShareOfBaseline, baselines, share_of_baseline
from wirespeed.report.page.data import charts, reached
from wirespeed.report.sources import Source, measured
from wirespeed.results.launches import combined
from wirespeed.results.runs import Run, collect
from wirespeed.statistics.samples import ratio_interval


def block(path: str, size: int, seconds: float, contiguous: float, **more: Any) -> dict[str, Any]:
    """A list of 4 blocks, beside one message of as many bytes."""
    beside = {"median": contiguous, "low": 0.98 * contiguous, "high": 1.02 * contiguous, "min": contiguous}
    return entry(
        path,
        size,
        seconds,
        pattern="blocks",
        definition="list: half of the time there and back",
        bandwidth_bytes=4 * size,
        derived=[{"name": "blocks", "unit": "blocks/s", "amount": 4, "median": 4 / seconds}],
        **{"baseline": {"name": "contiguous", "seconds": beside}, **more},
    )


def run_of(paths: tuple[str, ...], launches: int = 1) -> Run:
    begin = head(paths)
    begin["plan"] |= {"pattern": "blocks", "sizes": [4096, 32768], "launches": launches}
    records = [begin]
    for path in paths:
        records += [step(path), block(path, 4096, 2e-5, 1e-5), block(path, 32768, 5e-5, 4e-5)]
    (run,) = collect(as_read([*records, end()]))
    return run


def test_a_share_has_the_interval_of_both_figures() -> None:
    run = run_of(("host",))
    found = share_of_baseline(run, run.entries["host", 4096])
    assert found is not None and found.name == "contiguous" and found.share == pytest.approx(0.5)
    list_, beside = run.entries["host", 4096], run.entries["host", 4096].baseline
    assert beside
    expected = ratio_interval(
        (beside.seconds, beside.low, beside.high), (list_.seconds, list_.low, list_.high)
    )
    assert (found.share, found.low, found.high) == expected and not found.uncertain
    assert str(found) == "50 % ±1.0" and baselines(run) == ["contiguous"]


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (ShareOfBaseline("contiguous", 0.5), "50 %"),
        (ShareOfBaseline("contiguous", 0.0123, 0.0122, 0.0124), "1.2 % ±0.01"),
        (ShareOfBaseline("contiguous", 0.001, 0.0009, 0.0011), "0.1 % ±0.01"),
        (ShareOfBaseline("contiguous", 1.1, 0.9, 1.3), "110 % ±20"),
        (ShareOfBaseline("contiguous", 0.1, 0.01, 2.0), "10 % uncertain"),
    ],
)
def test_words_of_a_share(share: ShareOfBaseline, said: str) -> None:
    assert str(share) == said


def test_without_a_baseline_there_is_no_share() -> None:
    run = make_run(entry("host", 8, 1e-6))
    assert share_of_baseline(run, run.entries["host", 8]) is None and baselines(run) == []
    assert "of contiguous" not in shown(run, explain=True)


def test_the_table_of_few_paths_has_a_column() -> None:
    text = shown(run_of(("host", "gpu")), width=150, explain=True)
    assert len(re.findall(r" of +blocks\n| of +blocks ", text)) and text.count("50 % ±1.0") == 2
    assert "80 % ±1.6" in text
    assert "of contiguous: the time of the same bytes in one message" in " ".join(text.split())


def test_the_table_of_many_paths_has_rows() -> None:
    text = shown(run_of(("host", "staged", "ipc-write", "ipc-read", "gpu", "nccl")), width=100)
    section = text.split("% of contiguous")[1].split("GB/s")[0]
    assert [line.split()[2:] for line in section.splitlines()[1:3]] == [["50"] * 6, ["80"] * 6]


def test_several_launches_have_the_median_of_their_baselines() -> None:
    """Protects --launches: each launch's own baseline counts, not the last one's."""
    each = [
        figure("host", 4096, 2e-5, launch=number, baseline=block("host", 4096, 2e-5, beside)["baseline"])
        for number, beside in enumerate((1e-5, 1.2e-5, 0.9e-5), 1)
    ]
    found = combined(each)
    assert found.baseline and found.baseline.seconds == 1e-5 and found.baseline.times.min == 0.9e-5
    assert found.baseline.low <= 1e-5 <= found.baseline.high
    assert not combined([figure("host", 8, 1e-6, launch=number) for number in (1, 2)]).baseline


def test_the_share_of_several_launches_is_the_median_of_theirs() -> None:
    """Protects from a slow launch, in which both are slow: the share of each launch counts."""
    begin = head(("host",))
    begin["plan"] |= {"pattern": "blocks", "launches": 3}
    slow = [block("host", 4096, 2e-5 * by, 1e-5 * by, launch=at) for at, by in enumerate((1, 5, 9), 1)]
    (run,) = collect(as_read([begin, step("host"), *slow, end()]))
    found = share_of_baseline(run, run.figures["host", 4096])
    assert found is not None and found.share == pytest.approx(0.5)
    assert found.low == pytest.approx(0.5) and found.high == pytest.approx(0.5)


def test_csv_has_its_time() -> None:
    stream = io.StringIO()
    FORMATS["csv"]([run_of(("host",)), make_run(entry("host", 8, 1e-6))], stream)
    rows = [*csv.DictReader(io.StringIO(stream.getvalue()))]
    assert [row["baseline_s"] for row in rows] == ["1e-05", "4e-05", ""]


def test_exports_have_it_too() -> None:
    """Protects monitoring and scripts: the baseline's time, and the bandwidth of all blocks of a list."""
    run = run_of(("host",))
    said = {}
    for name in ("prometheus", "reframe", "tutorial"):
        stream = io.StringIO()
        FORMATS[name]([run], stream)
        said[name] = stream.getvalue().splitlines()
    assert [line.split()[-1] for line in said["prometheus"] if "baseline_seconds{" in line] == [
        "1e-05",
        "4e-05",
    ]
    assert [re.findall(r" baseline_us=(\d+)", line) for line in said["reframe"]] == [["10"], ["40"]]
    rates = [float(line.split()[-1]) for line in said["tutorial"][1:]]
    assert rates == pytest.approx([4 * 4096 / 2e-5 / 2**30, 4 * 32768 / 5e-5 / 2**30])
    text = markdown([Source("a.jsonl", [run], [], [])])
    assert "| of contiguous | host |\n| --- | ---: |\n| 4 KiB | 50 % ±" in text


def test_the_page_has_a_curve() -> None:
    source = Source("a.jsonl", [run_of(("host", "gpu"))], [], [])
    (host, gpu) = reached(measured([source]))
    assert (host["path"], gpu["path"], host["name"]) == ("host", "gpu", "contiguous")
    assert host["bytes"] == [4096, 32768] and host["share"] == pytest.approx([50, 80])
    assert host["low"][0] < 50 < host["high"][0]
    (chart,) = charts(measured([source]), "blocks")
    assert chart["sizes"] == "block size"


BLOCKS = 'pattern = "blocks"'
PLAN = {"pattern": "blocks", "sizes": [4096, 32768], "launches": 7}


def launches_of(slowed: float = 1.0) -> list[dict[str, Any]]:
    """Seven launches that are fast and slow by turns, in which a list's share varies by a tenth as much."""
    noises = zip((0, 4, -5, 3, -4, 5, -3), (1, -4, 3, -2, 5, -5, 2), strict=True)
    found = [
        block("host", size, slowed * share * time * (1 + own / 1000), time, launch=at)
        for at, (common, own) in enumerate(noises, 1)
        for size, share in ((4096, 2.0), (32768, 1.05))
        for time in [1e-3 * (1 + common / 100)]
    ]
    return [step("host"), *found]


class TestBounds:
    """wirespeed check: shares of the baseline as bounds."""

    @pytest.mark.parametrize(
        ("bound", "code"),
        [
            ("at least 78 % of contiguous", ExitCode.OK),
            ("at least 79.5 % of the contiguous", ExitCode.OK),
            ("at least 81 % of contiguous", ExitCode.CANNOT_TELL),
            ("at least 83 % of contiguous", ExitCode.WORSE),
            ("at most 83 % of contiguous", ExitCode.OK),
            ("at most 77 % of contiguous", ExitCode.WORSE),
            ("at least 3 GB/s, at least 83 % of contiguous", ExitCode.WORSE),
        ],
    )
    def test_share_against_bound(self, bound: str, code: ExitCode, check_: Check) -> None:
        """80 %, 78.4 to 81.6."""
        file = write(Path("r.jsonl"), step("host"), block("host", 32768, 5e-5, 4e-5), plan=PLAN)
        found, out, _ = check_(site(f'32K = "{bound}"', more=BLOCKS), file, "--all")
        assert found == code, out
        if " GB/s" not in bound:
            assert "blocks host at 32 KiB: 80 % of contiguous (78.4 to 81.6 within this launch)" in out[0]

    def test_what_cannot_be_told(self, check_: Check) -> None:
        """A rank that waits for a CPU slows either side; a figure without a baseline has no share.

        Nor has one beside what is not its pattern's baseline, or beside a time without an interval.
        """
        waiting = {"waited": 0.8, "rank": 0, "preempted": 9, "shared": None}
        once = {"median": 1e-5, "low": None, "high": None, "min": 1e-5}
        for more, said in (
            ({"cores": waiting}, "ranks waited for CPUs"),
            ({"baseline": None}, "nothing was measured beside it"),
            ({"baseline": {"name": "other", "seconds": once}}, "nothing was measured beside it"),
            ({"baseline": {"name": "contiguous", "seconds": once}}, "without an interval"),
        ):
            records = {**block("host", 4096, 1e-5, 1e-5), **more}
            if records["baseline"] is None:
                del records["baseline"]
            file = write(Path("r.jsonl"), step("host"), records, plan=PLAN)
            for bound in ("at least 50", "at least 200", "at most 50"):
                code, out, _ = check_(site(f'4K = "{bound} % of contiguous"', more=BLOCKS), file)
                assert code == ExitCode.CANNOT_TELL and said in out[0], out

    def test_other_patterns_have_none(self, check_: Check) -> None:
        code, _, err = check_(site('4K = "at least 90 % of contiguous"'), Path("r.jsonl"))
        assert code == ExitCode.USAGE and "site.toml, line 5: 'at least 90 % of contiguous'" in err
        for extreme in ("1e400", "1e-320"):
            bound = f'4K = "at least {extreme} % of contiguous"'
            code, _, err = check_(site(bound, more=BLOCKS), Path("r.jsonl"))
            assert code == ExitCode.USAGE and "write '" in err
        code, _, err = check_(site('4K = "at least 9 GB/s of contiguous"', more=BLOCKS), Path("r.jsonl"))
        assert code == ExitCode.USAGE and "% of limit, % of contiguous" in err
        usual = "at least 90 % of contiguous, usually 92 %"
        code, _, err = check_(site(f'4K = "{usual}"', more=BLOCKS), Path("r.jsonl"))
        assert code == ExitCode.USAGE and "write 'usually 11 us'" in err

    def test_learnt_shares_find_a_slow_path(self, check_: Check) -> None:
        """Launches differ by 5 %, shares by 0.5 %: a list that is 7 % slower breaks its share alone."""
        begin = head(("host",))
        begin["plan"] |= PLAN
        text = learn([make_run(begin, *launches_of())], ["r.jsonl"])
        (bounds,) = re.findall(r'"32K" = "(.*?)"', text)
        least = re.fullmatch(
            r"at least .* GB/s, usually .* GB/s \(spread .* %\), at least ([\d.]+) % of contiguous", bounds
        )
        assert least and 90 < float(least[1]) < 95, text
        assert re.search(r'"32K" = .*# .*, 7 launches, the slowest, 96 % of contiguous', text), text
        for slowed, code in ((1.0, ExitCode.OK), (1.07, ExitCode.WORSE)):
            file = write(Path("r.jsonl"), *launches_of(slowed), plan=PLAN)
            found, out, _ = check_(text, file, "--explain")
            assert found == code, out
            failed = [line for line in out if line.startswith("FAILED")]
            assert all("% of contiguous wanted, in two launches" in line for line in failed), failed
            assert len(failed) == (2 if code else 0)

    def test_few_launches_have_no_share(self) -> None:
        run = run_of(("host",))
        assert "at least" not in learn([run], ["r.jsonl"])
        assert "at least" in learn([run], ["r.jsonl"], 0.02)
