"""Every command line in README and docs, parsed by the real parser without being run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from wirespeed.cli.commands import cli
from wirespeed.errors import WirespeedError

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


def commands(page: str) -> Iterator[list[str]]:
    """The words after `wirespeed` of each command line of the page; plain text has none."""
    for line in code(page):
        for words in simple_commands(line) if "wirespeed" in line else ():
            if "wirespeed" in words and (words[0] == "wirespeed" or words[0] in LAUNCHERS):
                yield words[words.index("wirespeed") + 1 :]


def parse(words: list[str]) -> None:
    """Raises click.UsageError for what the command line does not take."""
    command: click.Command = cli
    context = click.Context(cli, info_name="wirespeed", **cli.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, found, words = command.resolve_command(context, words)
        assert found
        command, context = found, click.Context(found, info_name=name, parent=context)
    if not words and context.parent:
        return  # its name, in a sentence
    try:
        parsed = command.make_context(context.info_name, list(words), parent=context.parent)
    except click.exceptions.Exit as end:  # --help
        assert end.exit_code == 0
        return
    if context.info_name == "script" and (pattern := parsed.params["pattern"]):
        parse([pattern.name, *parsed.params["words"]])


def documented(page: Path) -> list[list[str]]:
    found = commands(page.read_text("utf-8"))
    return [words for words in found if words and words[0] not in ("...", "COMMAND")]


def complaint(words: list[str]) -> str | None:
    try:
        parse(words)
    except (click.UsageError, WirespeedError) as error:
        return f"wirespeed {shlex.join(words)}: {error}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_documented_command_is_understood(page: Path) -> None:
    """Protects readers from examples with options that no longer exist."""
    assert list(filter(None, map(complaint, documented(page)))) == []


def test_commands_are_found_in_every_form() -> None:
    page = """
`wirespeed show FILE \\| head -3` and `mpirun -n 2 wirespeed pingpong`, not `wirespeed`

```sh
$ UCX_TLS=tcp wirespeed pingpong --hosts n1,n2 \\
    --sizes 8    # a rank's
sbatch $(wirespeed fleet show DIR --format slurm) job.sh
kubectl create configmap wirespeed --from-file=x
```

    wirespeed doctor
"""
    assert list(filter(None, commands(page))) == [
        ["show", "FILE"],
        ["pingpong"],
        ["pingpong", "--hosts", "n1,n2", "--sizes", "8"],
        ["fleet", "show", "DIR", "--format", "slurm"],
        ["doctor"],
    ]
    assert sum(len(documented(page)) for page in PAGES) > 120


@pytest.mark.parametrize(
    "words",
    ["pingpong --path host", "fleet show DIR --pages f.html", "script halo --column 2", "pingpnog"],
)
def test_a_stale_example_is_found(words: str) -> None:
    assert complaint(words.split())
