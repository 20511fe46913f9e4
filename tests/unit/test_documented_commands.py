"""Every command line in README and docs, parsed by the real parser without being run."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from support.documented_commands import PAGES, commands, documented

from wirespeed.cli.commands import cli
from wirespeed.errors import WirespeedError


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
        parse([getattr(pattern, "name", pattern), *parsed.params["words"]])


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
    "words", ["pingpong --path host", "fleet show DIR --pages f.html", "script halo --column 2", "pingpnog"]
)
def test_a_stale_example_is_found(words: str) -> None:
    assert complaint(words.split())
