"""Runs the installed `wirespeed` as a user would, and reads what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.hosts import Hosts
    from support.mpis import InstalledMpi

WIRESPEED = Path(sys.prefix, "bin", "wirespeed")
PATIENCE = 500.0
"""Seconds that nothing takes unless it hangs, however busy the machine; pytest waits a little longer."""
Record = dict[str, Any]


@dataclass
class Done:
    """A finished command."""

    code: int
    out: str
    err: str
    records: list[Record] = field(default_factory=list)

    def of(self, kind: str) -> list[Record]:
        return [record for record in self.records if record["kind"] == kind]

    @property
    def entries(self) -> list[Record]:
        """In the order of what was asked for: sizes that take turns come to their ends in any order."""
        runs = {run["run"]: (at, run["plan"]["sizes"]) for at, run in enumerate(self.of("run"))}

        def place(entry: Record) -> tuple[int, int, int]:
            at, sizes = runs.get(entry["run"], (0, []))
            size = entry["bytes"]
            return at, entry["step"], sizes.index(size) if size in sizes else size

        return sorted(self.of("entry"), key=place)

    @property
    def failures(self) -> list[Record]:
        return self.of("failure")

    def __post_init__(self) -> None:
        assert "Traceback" not in self.out + self.err, self.err

    def ok(self) -> Done:
        """Fails with what was printed if the command did."""
        assert self.code == 0, self.err + self.out
        return self


def is_checked(entry: Record) -> bool:
    """Every byte of this figure was compared, in an iteration before its samples and in timed batches."""
    checked = entry["checked"]
    compared = checked["iterations"] + checked["batches"]
    return checked["iterations"] >= 1 and bool(checked["bytes"] == compared * entry["bytes"])


def read(file: Path) -> list[Record]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def captured(
    command: Sequence[str | Path], *, ok: bool = False, **how: Any
) -> subprocess.CompletedProcess[str]:
    """subprocess.run() with its output as text; `ok`: fails with what was printed if the command did."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert not ok or done.returncode == 0, done.stderr + done.stdout
    return done


def wirespeed(
    *arguments: str | Path,
    out: Path | None = None,
    before: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
    patience: float = PATIENCE,
) -> Done:
    """Runs `wirespeed ARGUMENTS`, behind the launcher words in `before`."""
    command = [*before, str(WIRESPEED), *map(str, arguments)]
    if out is not None:
        command += ["--out", str(out)]
    done = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr, read(out) if out else [])


def disturbed(
    *arguments: str | Path,
    out: Path,
    when: Callable[[list[Record]], bool],
    act: Callable[[subprocess.Popen[str]], None],
    before: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> Done:
    """Like wirespeed(), but calls `act` once, as soon as `when` likes the records written so far."""
    command = [*before, str(WIRESPEED), *map(str, arguments), "--out", str(out)]
    with subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and not when(whole_lines(out)):
                assert time.monotonic() < deadline, "the moment to act never came"
                time.sleep(0.02)
            act(process)
            printed, errors = process.communicate(timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return Done(process.returncode, printed, errors, read(out))


@dataclass
class Measure:
    """Runs wirespeed with its results in the file `out`.

    Of `words` each str is one word or several. `mpi`: by this MPI; `inside`: in two ranks of its launcher;
    `hosts`: with ranks on each of them.
    """

    out: Path

    def __call__(self, *words: str | Path, **how: Any) -> Done:
        command, known = self._told(words, **how)
        return wirespeed(*command, out=self.out, **known)

    def disturbed(
        self,
        *words: str | Path,
        when: Callable[[list[Record]], bool],
        act: Callable[[subprocess.Popen[str]], None],
        **how: Any,
    ) -> Done:
        """Calls `act` once, as soon as `when` likes the records written so far."""
        command, known = self._told(words, **how)
        return disturbed(*command, out=self.out, when=when, act=act, **known)

    def _told(
        self,
        words: Sequence[str | Path],
        *,
        mpi: InstalledMpi | None = None,
        inside: InstalledMpi | None = None,
        hosts: Hosts | None = None,
        before: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> tuple[list[str], dict[str, Any]]:
        command = [word for one in words for word in (one.split() if isinstance(one, str) else [str(one)])]
        variables = environment or {}
        if mpi:
            command += ["--mpi", str(mpi.mpiexec)]
        if inside:
            before, variables = tuple(inside.command(2)), inside.variables | variables
        if hosts:
            command += ["--hosts", hosts.names]
            before, variables = hosts["n1"].enter(), hosts.environment | variables
        return command, {"before": before, "environment": variables}


def whole_lines(file: Path) -> list[Record]:
    """Records of a file that is being written."""
    if not file.exists():
        return []
    text = file.read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def ranks_of(records: list[Record]) -> list[int]:
    """Process numbers of the latest job step's ranks, by rank."""
    steps = [record for record in records if record["kind"] == "step"]
    return [rank["pid"] for rank in steps[-1]["ranks"]] if steps else []
