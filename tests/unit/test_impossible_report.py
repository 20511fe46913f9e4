"""Impossible and uncertain figures in every view and export."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import report_files as made
from support.impossible import FALSE, WHY, WIDE, last_run, program_entry, program_run, program_step
from support.records import console, entry, head, make_run, shown, step, text_of

from wirespeed.report.cannot_tell import CANNOT_TELL
from wirespeed.report.export.formats import FORMATS
from wirespeed.report.facts.programs import parts
from wirespeed.report.page import read_sources, render
from wirespeed.report.page.answers import answers
from wirespeed.report.sources import measured
from wirespeed.report.terminal.contention import print_ratios
from wirespeed.report.terminal.progress import ProgressLines
from wirespeed.report.views import bars, view_of
from wirespeed.results.runs import Run


def words(text: str) -> str:
    return " ".join(text.split())


def cells(text: str, start: str) -> list[str]:
    """Of the first line that begins so."""
    (line, *_) = (line for line in text.splitlines() if line.strip().startswith(start))
    return line.split()


# ---- tables ----------------------------------------------------------------------------------------------


def program(path: str, seconds: float, **more: Any) -> list[dict[str, Any]]:
    options = {"size": "4096x4096", "scaling": "weak"}
    return [program_step(path, 2, "b"), program_entry(path, "jacobi", 2, seconds, options, "b", **more)]


COMPUTE = (36e-6, 35.9e-6, 36.1e-6)


def programs() -> Run:
    alone = program_run(35e-6, path="compute", ranks=1, run="a")
    first, *rest = program_run(48e-6, path="aware", run="b", compute=COMPUTE)
    others = [
        *program("gpu", 4e-6, compute=COMPUTE),
        *program("ipc-write", 37e-6, share=0.2, stopped="max-time", compute=COMPUTE),
        *program("nccl-stream", 36e-6, compute=COMPUTE),
        *program("staged", 90e-6, share=WIDE, compute=COMPUTE),
    ]
    return last_run(alone, [first, *rest[:-1], *others, rest[-1]])


def test_a_program_s_table() -> None:
    """Protects from 4 us a step; from 'none' where nobody can tell; and marks go on to the ratios."""
    run = programs()
    text = shown(run, 120)
    assert cells(text, "gpu ") == ["gpu", "impossible", *"-----"]
    assert cells(text, "aware ")[-6:] == ["12.0", "us", "±216", "ns", "73", "%"]
    assert cells(text, "ipc-write")[-4:] == ["cannot", "tell", "!95", "%"]
    assert "uncertain" in cells(text, "staged") and cells(text, "staged")[-1] == "-"
    assert "uncertain" in cells(shown(run, 60), "staged")
    assert "gpu at 64 MiB: impossible: a step takes 4.00 us" in words(text)
    assert "GPUDirect" not in text, "two figures would be needed that can be true"


@pytest.mark.parametrize(
    ("step_s", "share", "shown_as"),
    [
        (48e-6, 0.004, "12.0 us ±216 ns"),
        (36.1e-6, 0.004, "100 ns ±176 ns"),
        (36.1e-6, 0.2, CANNOT_TELL),
        (35.5e-6, 0.001, "-500 ns ±106 ns"),
        (90e-6, 0.1, "54.0 us ±9.00 us"),
    ],
)
def test_what_transfers_add(step_s: float, share: float, shown_as: str) -> None:
    """Protects from 'none' beside an efficiency of 38 %: the difference has an interval."""
    run = last_run(program_run(step_s, share=share, compute=COMPUTE))
    ((words_of, half),) = [parts(run, one).visible_words or ("", "") for one in run.entries.values()]
    assert f"{words_of} {half}".strip() == shown_as


def test_copies(tmp_path: Path) -> None:
    """Protects 'share kept 226 %' from standing without a mark."""
    (run,) = measured(read_sources([made.write(tmp_path / "c.jsonl", *made.copies())])[0])
    team = {"first": 0, "ranks": 1, "waited": None}

    def teams(alone: float, together: float, wide: float = 0.01) -> list[dict[str, Any]]:
        both = (("rank 0 alone", alone, wide), ("rank 0 with all", together, 0.01))
        return [
            {
                **team,
                "name": name,
                "seconds": {"median": s, "low": s * max(0.01, 1 - w), "high": s * (1 + w), "min": s},
            }
            for name, s, w in both
        ]

    def table(**more: Any) -> list[str]:
        begin = head()
        begin["plan"] |= {"pattern": "copy"}
        run = last_run([begin, step("h2h"), entry("h2h", 1 << 20, 1e-4, pattern="copy", **more)])
        screen = console(120)
        screen.print(*view_of(run).layout(200, run, run.sizes).tables)
        return cells(text_of(screen), "h2h")

    assert run.run.traits.view == "copies"
    assert "226" in table(teams=teams(2.26e-4, 1e-4)), "a line below the table says that it is too much"
    assert "97" in table(teams=teams(0.97e-4, 1e-4)) and "101" in table(teams=teams(1.01e-4, 1e-4))
    assert "!94" in table(teams=teams(0.94e-4, 1e-4, wide=0.3)), "the copy alone is known to ±30 %"
    assert table(teams=teams(1e-4, 1e-4), **FALSE)[3:5] == ["impossible", "impossible"]
    assert table(teams=teams(1e-4, 1e-4, wide=1.5)).count("uncertain") == 1


def test_pairs_and_fans_have_the_word_in_the_table(tmp_path: Path) -> None:
    """Protects a matrix from cells of an impossible figure."""
    records = made.pairs(4)
    for one in records:
        if one["kind"] == "entry":
            one |= FALSE
    (run,) = measured(read_sources([made.write(tmp_path / "p.jsonl", *records)])[0])
    text = shown(run.run, 120)
    assert "impossible" in text and "one-way time in us" not in text and "GB/s one way" not in text


def with_load(first: dict[str, Any], second: dict[str, Any]) -> str:
    """The ratios under the table of --with."""
    loaded = {"plan": {**head()["plan"], "background": "stream:host:1M"}}
    alone = last_run([head(), entry("host", 8, 1e-6, **first)])
    crowded = last_run([head() | loaded, entry("host", 8, 1.01e-6, **second)])
    screen = console(100)
    print_ratios(screen, [alone], crowded)
    return text_of(screen)


def test_a_ratio_has_the_marks_of_its_figures() -> None:
    """Protects '1.01x' of a figure that other processes slowed; of an impossible one there is none."""
    waited = {"cores": {"waited": 0.5, "rank": 0, "preempted": 9, "shared": None}}
    sharp: dict[str, Any] = {"share": 0.001}
    assert " 1.01x" in with_load(sharp, sharp)
    assert "&1.01x" in with_load(sharp, {**sharp, **waited}) and "&1.01x" in with_load(
        {**sharp, **waited}, sharp
    )
    assert "~1.01x" in with_load(sharp, {**sharp, "stopped": "max-time"})
    assert "uncertain" in with_load(sharp, {"share": WIDE})
    assert "1.01x" not in with_load(sharp, {**sharp, **FALSE})


def test_progress() -> None:
    """Protects who watches a run from a number that its file calls impossible."""
    stream = io.StringIO()
    progress = ProgressLines(console(100))
    progress._console.file = stream
    (one,) = make_run(entry("host", 8, 1e-9, **FALSE)).impossible.values()
    progress(one)
    assert f"impossible: {WHY}" in stream.getvalue() and "us" not in stream.getvalue().split()


# ---- the page and Markdown -------------------------------------------------------------------------------


def page_files(folder: Path) -> list[str]:
    def curve(path: str, latency: float) -> list[dict[str, Any]]:
        return [made.entry(path, size, latency + size / 4e10) for size in made.SIZES]

    records = [made.head(), made.step("aware"), made.step("gpu"), *curve("aware", 2e-6), *curve("gpu", 1e-6)]
    for one in records:
        if (one.get("path"), one.get("bytes"), one["kind"]) == ("gpu", 1 << 10, "entry"):
            one |= FALSE
        if (one.get("path"), one.get("bytes"), one["kind"]) == ("aware", 1 << 16, "entry"):
            one |= made.entry("aware", 1 << 16, one["seconds"]["median"], precision=WIDE)
    return [made.write(folder / "a.jsonl", *records, made.end())]


def test_the_page_s_data(tmp_path: Path) -> None:
    """Protects curves from the point that cannot be; the table names its size."""
    page = render(*read_sources(page_files(tmp_path)))
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    curves = {one["path"]: one for one in data["charts"][0]["series"]}
    assert curves["gpu"]["impossible"] == [1 << 10] and 1 << 10 not in curves["gpu"]["bytes"]
    assert "impossible" not in curves["aware"]
    assert f"impossible: {WHY.replace(chr(39), '&#39;')}" in page


def test_the_first_screen_has_no_number_of_it(tmp_path: Path) -> None:
    """Protects the tile of the worst finding, and 'lowest latency'."""
    begin = [made.head(), made.step("gpu"), made.step("aware")]
    figures = [made.entry("gpu", 8, 1e-9, **FALSE), made.entry("aware", 8, 2e-6)]
    sources, _ = read_sources([made.write(tmp_path / "a.jsonl", *begin, *figures, made.end())])
    (one,) = answers(measured(sources), sources)
    tiles = {tile.name: (tile.value, tile.level) for tile in one.tiles}
    assert tiles["Worst finding"] == ("gpu at 8 B: impossible", "bad")
    assert tiles["Lowest latency"][0] == "2.00 us"


def test_bars(tmp_path: Path) -> None:
    """Protects the page of programs: no bar, but the word, and it stands last."""
    run = programs()
    one = measured(read_sources([made.write(tmp_path / "x.jsonl", *page_of(run))])[0])
    (steps, *_) = [group for group in bars(one) if group.title == "Time of a step, 2 ranks"]
    assert (steps.bars[-1].label, steps.bars[-1].note, steps.bars[-1].value) == ("gpu", "impossible", 0.0)
    notes = {bar.label: bar.note for bar in steps.bars if bar.label}
    assert notes["staged"].startswith("90.0 us (uncertain)")
    assert notes["ipc-write"] == "!37.0 us, and how much of it is communication cannot be told"
    assert notes["nccl-stream"] == "36.0 us, its communication is hidden"


def page_of(run: Run) -> list[dict[str, Any]]:
    import msgspec

    return [msgspec.to_builtins(record) for one in run.others for record in one.records]


# ---- exports ---------------------------------------------------------------------------------------------


def exported(form: str, run: Run) -> str:
    stream = io.StringIO()
    FORMATS[form]([run], stream, None)
    return stream.getvalue()


def test_nccl_tests() -> None:
    """Protects the average of bus bandwidths."""
    begin = head()
    begin["plan"] |= {"pattern": "allreduce", "ranks": 2, "options": [["op", "sum"], ["type", "fp32"]]}
    sizes = (1 << 10, 1 << 20)
    figures = [
        entry("host", size, 1e-3, pattern="allreduce", **(FALSE if size == 1 << 10 else {})) for size in sizes
    ]
    text = exported("nccl-tests", last_run([begin, *figures]))
    assert not re.search(r"^ +1024 ", text, re.M) and re.search(r"^ +1048576 ", text, re.M)
    assert "Avg bus bandwidth    : 1.04858\n" in text


def test_arrays_say_it(tmp_path: Path) -> None:
    """Protects who reads a file in Python, old ones too."""
    import wirespeed

    results = wirespeed.load(
        made.write(tmp_path / "a", made.head(), made.entry("host", 8, 1e-9, **FALSE), made.end())
    )
    assert [one.why_impossible for one in results.entries] == [WHY]
    assert list(results.table()["impossible"]) == [WHY]
