"""What the reading commands print for every file in results/, before and after a change.

    .venv/bin/python scripts/outputs.py COMMIT          what differs between its code and this tree's
    .venv/bin/python scripts/outputs.py --write FOLDER [--digests]  only those of the installed package

Both use the dependencies of .venv. Files of results/ are this tree's; a commit that cannot read one says so
in its output. An output beyond 32 KiB is kept as its digest by --digests, with which a folder takes 5 MB;
`diff -r` compares two such folders.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = "100"
LONGEST = 32 << 10
"""Bytes of an output beyond which its digest is kept."""


def commands(files: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Name of an output, and the words of the command that makes it."""
    for file in files:
        name = re.sub(r"\.jsonl(\.gz)?$", "", file.removeprefix("results/")).replace("/", "--")
        yield f"{name}.show", ["show", file]
        yield f"{name}.all", ["show", file, "--all-sizes", "--explain"]
        for style in ("json", "csv", "ticket", "prometheus", "reframe", "osu", "tutorial"):
            yield f"{name}.{style}", ["show", file, "--format", style]
        yield f"{name}.md", ["report", file, "-o", "{out}.md"]
        yield f"{name}.html", ["report", file, "-o", "{out}.html"]
        yield f"{name}.bounds", ["check", "--learn", file, "--spread", "3%", "-o", "{out}.toml"]
        yield f"{name}.check", ["check", "--require", f"{{folder}}/{name}.bounds.toml", file, "--explain"]
    sets: dict[str, list[str]] = {}
    for file in files:
        sets.setdefault(re.sub(r"[-\d]*\.jsonl(\.gz)?$", "", file), []).append(file)
    for name, members in sets.items():
        if len(members) > 1:
            stem = name.removeprefix("results/").replace("/", "--")
            yield f"{stem}.compare-one", ["compare", *members[:2]]
            yield (
                f"{stem}.compare-all",
                ["compare", members[0], f"{name}*"],
            )


def write(folder: Path, files: list[str], longest: float) -> None:
    """Runs every command in this process. `longest`: bytes of an output that is kept as it is."""
    os.environ |= {"COLUMNS": WIDTH, "NO_COLOR": "1", "TERM": "dumb"}
    from wirespeed.cli.main import main

    folder.mkdir(parents=True, exist_ok=True)
    for name, words in commands(files):
        target = folder / name
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                filled = [word.replace("{out}", str(target)) for word in words]
                code: object = main([word.replace("{folder}", str(folder)) for word in filled])
            except SystemExit as end:
                code = end.code
            except Exception as error:
                code = f"{type(error).__name__}: {error}"
        lines = said.getvalue().replace(str(folder), "FOLDER").splitlines(keepends=True)
        # A slow moment is told.
        text = "".join(line for line in lines if not line.rstrip().endswith("so far]"))
        target.write_text(f"{text}\nexit code {code}\n")
        for made in folder.glob(f"{name}*"):
            if made.stat().st_size > longest:
                made.write_text(f"sha256 {hashlib.sha256(made.read_bytes()).hexdigest()}\n")


def differences(commit: str) -> int:
    """Prints the difference of both folders of outputs; 1 if there is one."""
    with tempfile.TemporaryDirectory(prefix="outputs-") as folder:
        old = Path(folder, "package")
        old.mkdir()
        packed = subprocess.run(
            ["git", "archive", commit, "wirespeed"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", str(old)], input=packed.stdout, check=True)
        for name, package in (("before", old), ("after", ROOT)):
            environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONSAFEPATH": "1"}
            subprocess.run(
                [sys.executable, __file__, "--write", str(Path(folder, name))],
                cwd=ROOT,
                env=environment,
                check=True,
            )
        return subprocess.run(["diff", "-r", "-U1", "before", "after"], cwd=folder).returncode


def measured() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "results"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(
        name
        for name in listed.stdout.split()
        if name.endswith((".jsonl", ".jsonl.gz")) and Path(ROOT, name).exists()
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3 + ("--digests" in sys.argv):
        folder = Path(sys.argv[2]).absolute()
        os.chdir(ROOT)
        write(folder, measured(), LONGEST if "--digests" in sys.argv else math.inf)
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        sys.exit(differences(sys.argv[1]))
    else:
        sys.exit(__doc__)
