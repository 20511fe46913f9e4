"""Result files for the commands that read them: one file, or a side of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wirespeed.cli.common.streams import warn, warn_of
from wirespeed.cli.common.words import shown
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.runs import Run, collect, resumed

if TYPE_CHECKING:
    from wirespeed.report.compare.beside import Beside
    from wirespeed.report.page import Source
    from wirespeed.results.reading import Results


MOST_BESIDE = 10
"""Earlier files that are read: each takes up to half a second."""
BOUNDS = "site.toml"
"""File beside results that says what launches there differ by."""


def read_runs(name: str) -> list[Run]:
    """The runs of a file, with a warning for what was left out. Raises WirespeedError if there is none."""
    return runs_of(read_results(name))


def read_results(name: str) -> Results:
    """All records of a file, with a warning for what was left out. Raises WirespeedError for other files."""
    from wirespeed.foreign.opening import open_figures

    results = open_figures(name)
    warn_of(name, results.warnings)
    return results


def runs_of(results: Results) -> list[Run]:
    """The runs among a file's records. Raises WirespeedError if there is none."""
    runs = resumed(collect(results.records))
    if not runs:
        if results.doctors:
            raise no_figures(results.file)
        raise _none(f"{results.file} holds no run of wirespeed")
    return runs


def no_figures(file: str) -> WirespeedError:
    """Of a file in which the doctor alone has written."""
    readers = "'wirespeed show' and 'wirespeed report' read it"
    return _none(f"{file} holds what 'wirespeed doctor' found, and no figures; {readers}")


def read_pages(names: Sequence[str]) -> tuple[list[Source], list[str]]:
    """The files of a report and a line for each that cannot be read, with warnings.

    Raises WirespeedError if none can be read.
    """
    from wirespeed.report.page import read_sources

    sources, lost = read_sources(names)
    for line in lost:
        warn(line)
    for source in sources:
        warn_of(source.file, source.warnings)
    return sources, lost


def files_of(side: str) -> list[str]:
    """The files of a side, sorted: a file, those of a folder, or those whose names fit a pattern.

    Raises WirespeedError if there is none.
    """
    if not side.strip() or "\0" in side:
        raise WirespeedError(f"{shown(side)}: this is no name of a file")
    path = Path(side)
    try:
        path.exists()
    except OSError as error:  # a name too long, a loop of links
        raise _none(f"cannot read {shown(side)}: {error.strerror}") from None
    if path.is_dir():
        from wirespeed.results.reading import is_named_so

        found: Iterable[Path] = filter(is_named_so, path.glob("*.jsonl*"))
        why = "no file in this folder ends in .jsonl or .jsonl.gz"
    elif any(letter in side for letter in "*?[") and not path.exists():
        # pathlib itself takes no pattern that begins at the root.
        found = Path(path.anchor or ".").glob(str(path.relative_to(path.anchor)))
        why = "no file's name fits this pattern"
    else:
        return [side]
    files = sorted(map(str, found))
    if not files:
        raise _none(f"{shown(side)}: {why}")
    return files


def read_side(side: str) -> list[Run]:
    """The runs of all files of a side; a run that is in two of them counts once.

    Of several files, those that are no result files are left out with a warning. Raises WirespeedError
    where nothing is left.
    """
    records = []
    files = files_of(side)
    for file in files:
        try:
            records += [record for run in read_runs(file) for record in run.records]
        except WirespeedError as error:
            if len(files) == 1:
                raise
            warn(f"{error}; left out")
    if not records:
        raise _none(f"{shown(side)}: none of these {len(files)} files is a result file of wirespeed")
    return resumed(collect(records))


def read_beside(*sides: str, say: Callable[[str], None]) -> Beside:
    """The newest MOST_BESIDE result files in the folders of these sides, without the sides' own, and BOUNDS.

    `say` gets a line before each file. What cannot be read is left out; of bounds, with a warning.
    """
    from wirespeed.report.check.requirements import read_requirements
    from wirespeed.report.compare.beside import Beside
    from wirespeed.results.reading import is_named_so, read

    own = [Path(file) for side in sides for file in files_of(side)]
    known = [file.resolve() for file in own]
    folders = {file.parent.resolve(): file.parent for file in own}.values()
    found: dict[Path, float] = {}
    for file in (file for folder in folders for file in folder.glob("*.jsonl*")):
        with suppress(OSError):
            if file.resolve() not in known and is_named_so(file) and file.is_file():
                found[file] = file.stat().st_mtime
    results, bounds = {}, {}
    for file in sorted(found, key=lambda file: -found[file])[:MOST_BESIDE]:
        say(f"{shown(str(file))} is read")
        with suppress(WirespeedError):
            results[str(file)] = resumed(collect(read(str(file)).records))
    for site in (folder / BOUNDS for folder in folders):
        if site.is_file():
            try:
                bounds[str(site)] = read_requirements(str(site))
            except WirespeedError as error:
                warn(f"{error}; left out")
    return Beside(results, bounds)


def _none(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.CANNOT_WRITE)
