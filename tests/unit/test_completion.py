"""What a shell completes, which is made from the commands themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import captured

from wirespeed.cli.main import COMPLETE, main


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
    done = captured(["bash", "-c", script], env=os.environ, ok=True)
    assert "host,staged-pipelined" in done.stdout.split()
