"""The files of --profile: one for each rank and path, in a folder beside the result file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from wirespeed.host.profilers import PROFILERS

PROFILER_SECONDS = 180.0
"""Seconds that a profiler may take to write its files once the ranks have ended."""


class Profiles:
    """A run's folder, and each job step's command line."""

    def __init__(self, name: str, results: Path) -> None:
        """`name`: as in PROFILERS; `results`: the result file, which gives the folder its name."""
        self._name, self._begun = name, Counter[str]()
        wanted = results.resolve().with_suffix("")
        number = 1
        while True:
            again = f"-{number}" if number > 1 else ""
            self.folder = wanted.with_name(f"{wanted.name}-{name}{again}")
            if not self.folder.exists():
                return
            number += 1

    def command(self, path: str) -> tuple[str, ...]:
        """For the ranks of a job step; a path's further job steps have files with a number."""
        self._begun[path] += 1
        again = self._begun[path]
        label = path if again == 1 else f"{path}-{again}"
        return PROFILERS[self._name].command(self._name, self.folder, label)

    def said(self) -> str:
        """Places of the files, and their cost."""
        return (
            f"profiles: {self.folder}, a file for each rank and path; {self._name} slows the ranks down, so "
            "these figures are not the machine's"
        )
