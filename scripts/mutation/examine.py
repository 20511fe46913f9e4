"""Which mutants the tests kill: each is tried in a copy (a fork) of a process that has done all else already.

Most statements run in tests alone. Their mutants are tried in copies of a process that has collected all
tests: a copy changes the functions that exist and runs the tests that come to the statement. What has run by
then (a constant, a default) has left its traces in other modules: there a copy imports and collects anew.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FunctionType

from mutation.confine import confine
from mutation.forking import Job, common_folder, printed, run_all
from mutation.module import Module, live_functions
from mutation.operators import Mutant
from mutation.session import Line, Ran, Tests, Trace, watch
from mutation.table import Room

KILLED, SURVIVED, NEVER_RUN = "killed", "survived", "never run"
_ANEW = "anew"

TIMES, MORE_S = 4.0, 1.0
"""A test may take so many times as long as it takes with the module as it is, and so much more."""
COLLECTING_S = 20.0
REAL_TIMES, REAL_S = 10.0, 30.0
"""In real time, where something sleeps for ever: others may use the processor, too."""


@dataclass(frozen=True)
class Task:
    """A mutant, and the room whose tests must kill it."""

    room: Room
    module: Module
    mutant: Mutant


@dataclass
class _Known:
    """What the session finds out."""

    verdicts: dict[int, str] = field(default_factory=dict)
    anew: dict[int, list[str]] = field(default_factory=dict)
    """The tests of tasks that have to import anew."""
    limits: dict[str, float] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    """Modules that neither a mutant nor a test can change."""


class Examination:
    """Tries tasks, so many at once; `tell` hears how many are done."""

    def __init__(self, root: Path, tasks: Sequence[Task], at_once: int, tell: Callable[[int], None]) -> None:
        self._root, self._tasks, self._at_once, self._tell = root, tasks, at_once, tell
        self._paths = frozenset(task.module.path for task in tasks)
        self._files = sorted({test for task in tasks for test in task.room.tests})
        self._known = _Known()
        self._imported: set[Line] = set()

    def run(self) -> list[str]:
        """For each task KILLED, SURVIVED or NEVER_RUN. Raises RuntimeError where the tests fail anyway."""
        # Threads of numerical libraries do not survive a fork.
        os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        [session] = run_all([Job(self._session)], 1)
        if not isinstance(session.value, _Known):
            raise RuntimeError("the session with all tests was killed")
        self._known = session.value
        for name in self._known.others:
            with suppress(Exception):
                importlib.import_module(name)
        self._try_all({index: partial(self._anew, index) for index in self._known.anew})
        return [self._known.verdicts[index] for index in range(len(self._tasks))]

    def _session(self) -> _Known:
        """Collects, looks where the tests go, and tries all that can be tried without importing anew."""
        trace = Trace(self._paths)

        def act() -> None:
            trace.stop()
            self._imported = trace.lines
            self._watch(tests)
            self._try_here(tests)

        tests = Tests(act)
        trace.start()
        if not tests.collect(self._files):
            raise RuntimeError(printed())
        packages = {module.name.partition(".")[0] for module in (task.module for task in self._tasks)}
        self._known.others = _others(packages, self._root)
        return self._known

    def _watch(self, tests: Tests) -> None:
        def act(name: str) -> Ran:
            confine(common_folder())
            return watch(tests, name, self._paths)

        jobs = [Job(partial(act, name)) for name in tests.names]
        ran: dict[str, Ran] = {}
        for ended in run_all(jobs, self._at_once):
            name = tests.names[ended.index]
            if not isinstance(ended.value, Ran) or not ended.value.passed:
                raise RuntimeError(f"{name} fails with the modules as they are")
            ran[name] = ended.value
        self._known.limits = {name: TIMES * one.seconds + MORE_S for name, one in ran.items()}
        self._choose(ran)

    def _choose(self, ran: Mapping[str, Ran]) -> None:
        """For each task the tests that may notice it, the quickest first."""
        quickest = sorted(ran, key=lambda name: ran[name].seconds)
        own = {
            room: [name for name in quickest if name.partition("::")[0] in room.tests]
            for room in {task.room for task in self._tasks}
        }
        by_line: defaultdict[Line, set[str]] = defaultdict(set)
        by_file: defaultdict[str, set[str]] = defaultdict(set)
        for name in quickest:
            for path, number in ran[name].lines:
                by_line[path, number].add(name)
                by_file[path].add(name)
        self._here: dict[int, list[str]] = {}
        for index, task in enumerate(self._tasks):
            path = task.module.path
            spots = [(path, number) for number in task.mutant.lines]
            if self._imported.intersection(spots):
                # Whoever comes into the file at all is the likelier to notice.
                self._known.anew[index] = sorted(own[task.room], key=lambda name: name not in by_file[path])
                continue
            there = set[str]().union(*(by_line[spot] for spot in spots))
            if names := [name for name in own[task.room] if name in there]:
                self._here[index] = names
            else:
                self._known.verdicts[index] = NEVER_RUN

    def _try_here(self, tests: Tests) -> None:
        functions = live_functions(self._paths)
        gc.freeze()
        self._try_all({index: partial(self._changed, index, tests, functions) for index in self._here})

    def _try_all(self, acts: Mapping[int, Callable[[], object]]) -> None:
        indices = list(acts)
        for ended in run_all([self._job(index, acts[index]) for index in indices], self._at_once):
            index = indices[ended.index]
            if ended.value == _ANEW:
                self._known.anew[index] = self._here[index]
            else:
                self._known.verdicts[index] = str(ended.value or KILLED)
            self._tell(len(self._known.verdicts))

    def _job(self, index: int, act: Callable[[], object]) -> Job:
        names = self._known.anew.get(index) or self._here[index]
        return Job(act, REAL_TIMES * sum(self._known.limits[name] for name in names) + REAL_S)

    def _changed(self, index: int, tests: Tests, functions: Sequence[FunctionType]) -> str:
        """In a copy of the session."""
        task = self._tasks[index]
        confine(common_folder())
        try:
            task.module.put_in_place(task.mutant, functions)
        except ValueError:  # a function that holds variables of another one cannot be changed
            return _ANEW
        return self._verdict(tests, self._here[index])

    def _anew(self, index: int) -> str:
        """In a copy of a process that has imported neither the package nor any test."""
        task, names = self._tasks[index], self._known.anew[index]
        verdicts = []
        confine(common_folder())
        tests = Tests(lambda: verdicts.append(self._verdict(tests, names)))
        task.module.put_in_place(task.mutant, ())
        signal.setitimer(signal.ITIMER_PROF, COLLECTING_S)
        try:
            tests.collect(dict.fromkeys(name.partition("::")[0] for name in names))
        except BaseException:  # whatever the mutant has brought about
            return KILLED
        return verdicts[0] if verdicts else KILLED

    def _verdict(self, tests: Tests, names: Sequence[str]) -> str:
        try:
            return SURVIVED if tests.pass_all(names, self._known.limits) else KILLED
        except BaseException:  # pytest lets a few pass: it would end here
            return KILLED


def _others(packages: set[str], root: Path) -> list[str]:
    inside = (str(root / "tests"), str(root / "scripts"))
    return [
        name
        for name, module in sys.modules.items()
        if name.partition(".")[0] not in packages
        and not str(getattr(module, "__file__", None) or "").startswith(inside)
    ]
