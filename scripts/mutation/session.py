"""The tests: which lines each of them runs, and which of them notice a mutant."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import hypothesis
import pytest

Line = tuple[str, int]
"""A module's path, and a line."""

ARGUMENTS = (
    *("-q", "-s", "--rootdir=.", "--import-mode=importlib", "-p", "no:cacheprovider", "--timeout=0"),
    # Their plugins are there before pytest is.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


class Trace:
    """The lines of some files that run between start and stop."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = paths
        self.lines: set[Line] = set()

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: FrameType, _event: str, _: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._paths else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


class Tests:
    """A plugin that hands the collected tests over instead of running them."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._items: dict[str, pytest.Item] = {}
        self._session: pytest.Session | None = None
        self._failure: Exception | None = None

    @property
    def names(self) -> list[str]:
        return list(self._items)

    def collect(self, files: Iterable[str]) -> bool:
        """Collects and hands over; False where pytest did not come so far. What is raised there comes out."""
        hypothesis.settings.register_profile(
            "mutants",
            database=None,
            deadline=None,
            # The same examples each time, and no search for a smaller one: any that fails is enough.
            derandomize=True,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate, hypothesis.Phase.target),
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        hypothesis.settings.load_profile("mutants")
        code = pytest.main([*ARGUMENTS, *files], plugins=[self])
        if self._failure:
            raise self._failure
        return code == pytest.ExitCode.OK

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("not all tests could be collected")
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        if leftovers := sys.modules.get("support.leftovers"):
            # Copies run at the same time, and each would take the others' for something left behind.
            leftovers.look = set  # type: ignore[attr-defined]
        try:
            self._act()
        except Exception as failure:
            self._failure = failure
        return True

    def pass_all(self, names: Sequence[str], limits: Mapping[str, float]) -> bool:
        """Runs these in their order; False as soon as one fails. One that passes its limit ends the process.

        `limits`: seconds of the processor, so that a busy machine changes nothing.
        """
        assert self._session is not None
        chosen = [self._items[name] for name in names if name in self._items]
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_PROF, limits.get(item.nodeid, 0.0))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._session.testsfailed:
                return False
        return True


@dataclass(frozen=True)
class Ran:
    """What is known of one test: does it pass, how long does it take (traced), which lines does it run?"""

    passed: bool
    seconds: float
    lines: set[Line]


def watch(tests: Tests, name: str, paths: Collection[str]) -> Ran:
    """Runs a test as it is."""
    trace, began = Trace(paths), time.process_time()
    trace.start()
    passed = tests.pass_all([name], {})
    trace.stop()
    return Ran(passed, time.process_time() - began, trace.lines)
