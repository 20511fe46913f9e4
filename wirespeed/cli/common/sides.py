"""A side of a comparison: one result file, a folder of them, or a pattern of names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wirespeed.cli.common.reading import read_runs, warn
from wirespeed.cli.common.values import shown
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.results.runs import Run, collect


def files_of(side: str) -> list[str]:
    """The files meant, sorted. Raises WirespeedError where there is none."""
    if not side.strip() or "\0" in side:
        raise WirespeedError(f"{shown(side)}: this is no name of a file")
    if Path(side).is_dir():
        found = sorted(map(str, Path(side).glob("*.jsonl")))
        if not found:
            raise _none(f"{shown(side)}: no file in this folder ends in .jsonl")
        return found
    if any(letter in side for letter in "*?[") and not Path(side).exists():
        found = sorted(map(str, _matching(Path(side))))
        if not found:
            raise _none(f"{shown(side)}: no file's name fits this pattern")
        return found
    return [side]


def _matching(pattern: Path) -> Iterator[Path]:
    """Names that fit, in any folder: pathlib itself takes no pattern that begins at the root."""
    return Path(pattern.anchor or ".").glob(str(pattern.relative_to(pattern.anchor)))


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
    return collect(records)


def _none(text: str) -> WirespeedError:
    return WirespeedError(text, ExitCode.CANNOT_WRITE)
