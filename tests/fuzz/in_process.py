"""Runs a case in this process: nothing is measured, and every file, process and line of it is noted."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from fuzz.cases import Case
from support.fake_run import FakeRun
from support.results import entry, run, step

import wirespeed.frontend
from wirespeed import interrupts, systems
from wirespeed.cli.common.sides import MeasuredSide
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode
from wirespeed.frontend import background_load, machine, order
from wirespeed.host import mpi
from wirespeed.job.plan import Plan
from wirespeed.results.reading import record_of
from wirespeed.results.store import Store

ENCODINGS = ("utf-8", "utf-8", "ascii", "latin-1")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = (
    *("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    "shutil.rmtree",
)
_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.spawn")


@dataclass
class Noted:
    """What became of a case."""

    code: int = -1
    out: str = ""
    err: str = ""
    written: list[Path] = field(default_factory=list)
    """Places where files were made, changed or removed."""
    started: list[str] = field(default_factory=list)
    """Programs, with their words."""


_noted: Noted | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _noted is None:
        return
    if event in ("open", *_CHANGES):
        # A descriptor's file was noted when it was opened.
        if isinstance(arguments[0], str | bytes | os.PathLike) and (
            event != "open" or arguments[2] & _WRITING
        ):
            _noted.written.append(Path(os.fsdecode(arguments[0])).absolute())
    elif event in _STARTS:
        _noted.started.append(f"{event} {arguments[:2]}")


def run_case(case: Case, folder: Path) -> Noted:
    """Runs it in the folder, which gets its files."""
    global _noted
    _prepare()
    lay_out(case, folder)
    encoding = ENCODINGS[len(case.seed) % len(ENCODINGS)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="") for _ in range(2))
    words = [*case.words, "--look-only"] if case.words[:1] == ["doctor"] else case.words
    noted = Noted()
    with _surroundings(case, folder), mock.patch.multiple(sys, stdout=out, stderr=err):
        _noted = noted
        try:
            noted.code = main(words)
        finally:
            _noted = None
    out.flush()
    err.flush()
    noted.out = out.buffer.getvalue().decode(encoding, "replace")
    noted.err = err.buffer.getvalue().decode(encoding, "replace")
    return noted


def lay_out(case: Case, folder: Path) -> None:
    """Writes the case's files."""
    for name, content in case.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    if not (folder / "fifo").exists():
        os.mkfifo(folder / "fifo")


@contextlib.contextmanager
def _surroundings(case: Case, folder: Path) -> Iterator[None]:
    """Its environment and folder; no rank, no other process, no waiting."""
    session = ModuleType("wirespeed.frontend.session")
    session.measure = _Measured().measure  # type: ignore[attr-defined]
    session.discover = _discover  # type: ignore[attr-defined]
    before, here = dict(os.environ), Path.cwd()
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        enter(_module(session))
        enter(mock.patch.object(wirespeed.frontend, "session", session, create=True))
        enter(mock.patch.object(background_load, "running", lambda plan: contextlib.nullcontext()))
        enter(mock.patch.object(machine, "look", _look))
        enter(mock.patch.object(MeasuredSide, "_run", _run_side))
        enter(mock.patch.object(time, "sleep", lambda seconds: None))
        enter(mock.patch.object(interrupts, "sleep", lambda seconds: interrupts.check()))
        enter(mock.patch.object(sys, "dont_write_bytecode", True))
        enter(mock.patch.object(sys, "argv", ["wirespeed", *case.words]))
        if (folder / "systems").is_dir():
            for file in systems.FOLDER.iterdir():
                if not (folder / "systems" / file.name).exists():
                    (folder / "systems" / file.name).symlink_to(file)
            enter(mock.patch.object(systems, "FOLDER", folder / "systems"))
        tempfile.gettempdir()
        os.chdir(folder)
        os.environ |= case.environment
        try:
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ |= before


@contextlib.contextmanager
def _module(module: ModuleType) -> Iterator[None]:
    """It is what an import of its name finds; other modules that are loaded meanwhile stay."""
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        del sys.modules[module.__name__]
        if before:
            sys.modules[module.__name__] = before


@cache
def _prepare() -> None:
    """What is done once in a process: the hook, and a library that writes its cache as it is loaded."""
    sys.addaudithook(_hook)
    with contextlib.suppress(ImportError):
        import matplotlib.pyplot  # noqa: F401


@cache
def _mpis() -> list[mpi.Mpi]:
    return mpi.all_mpis()


def _look(plan: Plan) -> machine.Machine:
    """This machine without its GPUs; its MPIs are asked once."""
    return machine.Machine(
        "host", [], [mpi.choose(plan.mpi)] if plan.mpi else _mpis(), {"cuda": "none found"}
    )


def _discover(plan: Plan) -> Any:
    """Made up, but for an MPI that is named."""
    _look(plan)
    return FakeRun().discover(plan)


def _run_side(side: MeasuredSide, plan: Plan) -> None:
    _Measured().measure(plan, lambda event: None)


class _Measured:
    """A session that stores made-up figures, as a run stores its own; the user ends the fourth."""

    def __init__(self) -> None:
        self._runs = 0

    def measure(self, plan: Plan, observe: Any, bound: object = None) -> ExitCode:
        plan = order.completed(plan, plan.ranks or 2, "host")
        order.chosen_paths(plan, "host")
        self._runs += 1
        with Store(plan.out, resume=plan.resume) as store:
            for line in (
                run(replace(plan, out=str(store.path))),
                step(),
                *(entry(size) for size in plan.sizes[:3]),
            ):
                record = record_of(line)
                assert record is not None
                store.append(record)
                observe(record)
        return ExitCode.INTERRUPTED if self._runs > 3 else ExitCode.OK
