"""Results shown: found and read, printed on the terminal, or written in the form that a name ends in."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from wirespeed.cli.common import words
from wirespeed.cli.common.options import Reporting, option, together
from wirespeed.cli.common.reading import files_of, no_figures, read_pages
from wirespeed.errors import ExitCode, WirespeedError

if TYPE_CHECKING:
    from wirespeed.report.sources import Source

PAGES, PLOTS = (".html", ".md"), (".pdf", ".png", ".svg")
TEXTS = {".csv": "csv", ".json": "json", ".prom": "prometheus", ".txt": "ticket"}
"""Ending: the --format that is written."""
ENDINGS = (*PAGES, *PLOTS, *TEXTS)
STDIN = "-"

drawing = together(
    option("--paths", words.several(words.Word("NAME", str)), "Paths in a plot. Default: all."),
    option(
        "--kind",
        words.choice("both", "bandwidth", "time"),
        "What a plot shows: bandwidth, time, or both side by side.",
        "both",
    ),
)
"""Options of plots."""


@dataclass(frozen=True)
class Drawing:
    """What a plot shows."""

    paths: tuple[str, ...] = ()
    kind: str = "both"
    against: str | None = None


def named_files(sides: Sequence[str], *, last: bool = False) -> list[str]:
    """The files that files, folders and wildcards mean, each once. Raises WirespeedError for none."""
    if last and sides:
        raise WirespeedError("--last is the newest result file of this folder: leave out the others")
    if last:
        return [_newest()]
    if not sides:
        raise WirespeedError(
            "name result files, folders or '*.jsonl', or - for the standard input; --last is the newest here"
        )
    return [*dict.fromkeys(file for side in sides for file in ([side] if side == STDIN else files_of(side)))]


def _newest() -> str:
    from wirespeed.results.reading import is_named_so

    found = filter(is_named_so, Path().glob("wirespeed-*.jsonl*"))
    newest = max(found, key=lambda file: file.stat().st_mtime, default=None)
    if newest is None:
        raise WirespeedError("--last: there is no wirespeed-*.jsonl in this folder", ExitCode.CANNOT_WRITE)
    return str(newest)


def read_all(files: Sequence[str]) -> tuple[list[Source], list[str]]:
    """The files that can be read, and a line for each that cannot; progress where it takes long."""
    from wirespeed.report.console.status_line import StatusLine

    with StatusLine(live=False) as status:
        status.now(f"{words.shown(files[0])} is read" if len(files) == 1 else f"{len(files)} files are read")
        return read_pages(files)


def write_results(
    files: Sequence[str], out: str, how: Drawing | None = None, allowed: Sequence[str] = ENDINGS
) -> None:
    """Writes the results in the form of this ending, and prints the name. Raises WirespeedError."""
    from wirespeed.results.whole_file import write_whole

    ending, how = Path(out).suffix, how or Drawing()
    if ending not in allowed:
        raise WirespeedError(f"--out {out}: its name ends in {', '.join(allowed)}")
    sources, lost = read_all(files)
    if ending in PLOTS:
        from wirespeed.report.export.matplotlib_figure import plot

        plot(sources, out, how.paths, how.kind, how.against)
    elif ending == ".md":
        from wirespeed.report.export.markdown import markdown

        write_whole(out, markdown(sources, lost))
    elif ending == ".html":
        from wirespeed.report.page import render

        write_whole(out, render(sources, lost))
    else:
        stream = io.StringIO()
        print_sources(sources, Reporting(TEXTS[ending]), stream)
        write_whole(out, stream.getvalue())
    print(out)


def print_sources(sources: Sequence[Source], how: Reporting, stream: IO[str]) -> None:
    """All runs; a table has a head for each of several files. Raises WirespeedError for no run."""
    if how.format != "table":
        runs = [run for source in sources for run in source.runs]
        if not runs:
            raise no_figures(sources[0].file)
        how.print(runs, [finding for source in sources for finding in source.findings], stream)
        return
    for number, source in enumerate(sources):
        if len(sources) > 1:
            print(f"{chr(10) * (number > 0)}== {words.shown(source.file, quote=False)}\n", file=stream)
        if source.runs:
            how.print(source.runs, source.findings, stream)
        elif source.doctor and how == Reporting():
            from wirespeed.doctor.result import Result
            from wirespeed.report.console.console import make_console
            from wirespeed.report.doctor.terminal import print_result

            print_result(make_console(stream), Result.of(source.doctor))
        else:
            raise no_figures(source.file)
    sys.stdout.flush()
