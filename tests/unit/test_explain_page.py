"""docs/explain.md: below each command stands what it prints of the text above (`--accept` writes it)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.golden import Golden

from wirespeed.cli.main import main
from wirespeed.errors import ExitCode

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"
TEXT = re.compile(r"^```text (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^```console\n\$ wirespeed ([^\n]*)\n.*?^```$", re.MULTILINE | re.DOTALL)
CODES = [ExitCode.WORSE, ExitCode.WORSE, ExitCode.WORSE]


def test_three_questions_are_answered_as_the_page_says(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = PAGE.read_text()
    monkeypatch.chdir(tmp_path)
    for name, content in TEXT.findall(page):
        Path(name).write_text(content)
    codes = []

    def answered(found: re.Match[str]) -> str:
        codes.append(main(shlex.split(found[1])))
        lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        return "\n".join(["```console", f"$ wirespeed {found[1]}", *lines, "```"])

    golden.compare(PAGE, COMMAND.sub(answered, page))
    assert codes == CODES
