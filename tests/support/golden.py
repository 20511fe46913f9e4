"""Whole printed texts, held against files in tests/golden; `pytest --accept` writes what is printed now."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


class Golden:
    """Compares the texts of a table of cases with one file of tests/golden."""

    def __init__(self, accept: bool, known: Mapping[str, str]) -> None:
        self.accept = accept
        self.known = known

    def __call__(self, name: str, cases: Mapping[str, object]) -> None:
        """Holds every case's text against tests/golden/NAME.txt; what is no text is written by str()."""
        texts = (f"== {case}\n{self._plain(str(text))}" for case, text in cases.items())
        self.compare(GOLDEN / f"{name}.txt", "\n".join(texts))

    def compare(self, file: Path, text: str) -> None:
        """Holds a text against the whole file."""
        found = self._plain(text)
        if self.accept:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(found)
        before = file.read_text() if file.exists() else ""
        name = str(file.relative_to(GOLDEN.parents[1]))
        changes = difflib.unified_diff(before.splitlines(), found.splitlines(), name, "now", lineterm="")
        if found != before:
            raise AssertionError("\n".join(["pytest --accept takes this:", *changes]))

    def _plain(self, text: str) -> str:
        """The text without blanks at its lines' ends, and without what differs between machines."""
        for value, word in self.known.items():
            text = text.replace(value, word)
        # A measured file may name the folder that the project now lies in.
        text = re.sub(r"(?:ROOT|(?:/[\w.-]+)+)/\.venv\b", "VENV", text)
        # The last digits of a float depend on the machine's mathematics.
        text = re.sub(r"\b\d+\.\d{11,}(e-?\d+)?", lambda found: f"{float(found[0]):.6g}", text)
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
