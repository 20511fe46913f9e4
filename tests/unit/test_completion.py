"""What a shell completes, and the man page: both are made from the commands themselves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wirespeed.cli.commands import GROUPS, _summaries
from wirespeed.cli.main import COMPLETE, main
from wirespeed.errors import ExitCode

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def completed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], line: str) -> list[str]:
    words = line.split(" ")
    for name, value in {COMPLETE: "bash_complete", "COMP_WORDS": line, "COMP_CWORD": len(words) - 1}.items():
        monkeypatch.setenv(name, str(value))
    assert main([]) == 0
    return [one.partition(",")[2] for one in capfd.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("wirespeed pi", ["pingpong"]),
        ("wirespeed pingpong --pa", ["--paths"]),
        ("wirespeed pingpong --paths host,ipc-r", ["host,ipc-read"]),
        ("wirespeed pingpong --context ", ["primary", "own"]),
        ("wirespeed fleet sh", ["show"]),
    ],
)
def test_what_is_offered(
    line: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Protects completion from an option whose type forgets what it knows."""
    assert completed(monkeypatch, capfd, line) == words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_text_for_a_shell(shell: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Protects the user's start-up file: the shell itself, where it is installed, reads it."""
    assert main(["completion", shell]) == 0
    text = capfd.readouterr().out
    assert f"{COMPLETE}={shell}_complete" in text
    if program := shutil.which(shell):
        file = tmp_path / "text"
        file.write_text(text)
        subprocess.run([program, "-n", file], check=True)


def test_bash_completes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Protects the whole way: bash calls the function, and the function calls wirespeed."""
    assert main(["completion", "bash"]) == 0
    script = f"""{capfd.readouterr().out}
COMP_WORDS=(wirespeed pingpong --paths host,stag); COMP_CWORD=3
_wirespeed_completion {Path(sys.executable).parent / "wirespeed"}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=os.environ, check=True)
    assert "host,staged-pipelined" in done.stdout.split()


def test_the_man_page() -> None:
    """Protects it from a command that it leaves out, and from text that troff takes for its own."""
    page = subprocess.run(
        [sys.executable, "-I", ROOT / "scripts/man_page.py"], capture_output=True, text=True, check=True
    ).stdout
    sections = re.findall(r'^\.SH "wirespeed (.*)"$', page, re.MULTILINE)
    assert {name.split()[0] for name in sections} == {name for group in GROUPS for name in _summaries(group)}
    assert r"\fB\-\-paths NAME,...\fP" in page
    titles = re.findall(r'^\.SH "([A-Z ]+)"$', page, re.MULTILINE)
    assert titles[-4:] == ["EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"]
    status, environment = (page.split(f'.SH "{title}"')[1].split(".SH ")[0] for title in titles[-4:-2])
    assert {rf"\fB{int(code)}\fP" for code in ExitCode} <= set(status.splitlines())
    documented = {
        name for file in DOCS.glob("*.md") for name in re.findall(r"WIRESPEED_\w+", file.read_text())
    }
    libraries = {name for name in documented if name.startswith("WIRESPEED_LIBRARY")}
    assert all(name in environment for name in documented - libraries)
    assert all(f"_{name.rpartition('_')[2]}" in environment for name in libraries)
    known = {".TH", ".SH", ".PP", ".TP", ".nf", ".fi"}
    assert {line.split()[0] for line in page.splitlines() if line[:1] in (".", "'")} == known
