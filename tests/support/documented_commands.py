"""Command lines in README and docs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LAUNCHERS = ("mpirun", "mpiexec", "srun", "salloc", "torchrun", "ncu", "nsys")
"""What stands before `wirespeed` in a command line of the pages."""
CODE = re.compile(
    r"^```.*?\n(.*?)^```|^((?: {4}[^\n]*\n)+)|(?<!`)`((?:[^`\n]|\n(?!\n))+)`(?!`)", re.MULTILINE | re.DOTALL
)


def code(page: str) -> Iterator[str]:
    """Lines of its code blocks, continued lines as one, and its code spans."""
    for block, indented, span in CODE.findall(page):
        if span:
            yield span.replace("\n", " ").replace("\\|", "|")
        else:
            yield from (block or indented).replace("\\\n", " ").splitlines()


def simple_commands(line: str) -> Iterator[list[str]]:
    """What stands between a shell's operators, without the prompt, variables and redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in [*lexer, ";"]:
            if re.fullmatch(r"[();<>|&]+", word):
                yield words
                words = []
            elif words or not re.fullmatch(r"\$|\w+=.*", word):
                words.append(word)
    except ValueError:  # a quotation mark of prose
        return


def launched(page: str) -> Iterator[tuple[list[str], list[str]]]:
    """The words before and after `wirespeed` of each command line of the page; plain text has none."""
    for line in code(page):
        for words in simple_commands(line) if "wirespeed" in line else ():
            if "wirespeed" in words and (words[0] == "wirespeed" or words[0] in LAUNCHERS):
                at = words.index("wirespeed")
                yield words[:at], words[at + 1 :]


def commands(page: str) -> Iterator[list[str]]:
    """The words after `wirespeed` of each."""
    return (words for _, words in launched(page))


def documented(page: Path) -> list[list[str]]:
    found = commands(page.read_text("utf-8"))
    return [words for words in found if words and words[0] not in ("...", "COMMAND")]
