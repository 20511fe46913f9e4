"""One path, measured by all ranks together, size after size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wirespeed.host.core import Core
from wirespeed.job.messages import Message
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import startup_limit, stuck_after
from wirespeed.paths import Path, find_path
from wirespeed.patterns import Shape, find_pattern
from wirespeed.rank.buffers import Buffers, buffer_room
from wirespeed.rank.context import Mismatch, Setting, Unusable
from wirespeed.rank.env_check import without_effect
from wirespeed.rank.size_run import OneSize
from wirespeed.rank.wire_counting import CountedRuns

if TYPE_CHECKING:
    from wirespeed.rank.communicator import World
    from wirespeed.rank.watchdog import Watched

Tell = Callable[[Message], None]

TRIAL_SIZES = (1, 32 << 10, 4 << 20)
"""A tiny message is not enough to try a library with device pointers: each protocol fails in its own way."""

OWN_TEST_KEYS = ("lie", "offset", "instead", "headline")
"""Of `--test`; all others are options of the transport, for tests and sweeps."""


class Measurement:
    """What one rank does; all ranks call the same methods in the same order."""

    def __init__(
        self, core: Core, world: World, device: Any, watched: Watched, plan: Plan, tell: Tell
    ) -> None:
        self._core, self._watched, self._plan, self._tell = core, watched, plan, tell
        self._control = world.control(core)
        test = dict(plan.test)
        pattern, options = find_pattern(plan.pattern), dict(plan.options)
        given = {k: v for k, v in test.items() if k not in OWN_TEST_KEYS}
        for option in pattern.options:
            if option.for_transport and options.get(option.key) is not None:
                given[option.key] = options[option.key]
        self._transport_options = ";".join(f"{k}={v}" for k, v in given.items())
        self._offset = int(test.get("offset", "0"))
        self._setting = Setting(
            core=core,
            world=world,
            device=device,
            plan=plan,
            pattern=pattern,
            shape=Shape(world.size, options, buffer_room(core, world, device)),
            tell=tell,
            offset=self._offset,
            lie=test.get("lie"),
            headline_only="headline" in test,
        )

    def run(self, name: str, sizes: Sequence[int]) -> None:
        """Measures the path at every size; failures are told, not raised.

        A path that may not work at all is tried first; "accepted" is told once it has moved bytes.
        """
        path = find_path(name)
        # Some transports join the ranks once more, and that takes its time.
        self._watched.stage(name, 0, self._plan.timeout or startup_limit(self._plan))
        if why := next(filter(None, self._setting.world.everyone(without_effect(path))), None):
            self._failure("unavailable", why, None, fatal=True)
            return
        try:
            transport = self._setting.together(
                partial(self._open_transport, path), self._core.lib.ws_transport_abandon
            )
        except Unusable as error:
            self._failure(error.what, str(error), None, fatal=True)
            return
        buffers = Buffers(self._setting, transport, path.memory, self._offset)
        try:
            self._try_and_measure(path, transport, buffers, sizes)
        except BaseException:
            # What fails on this rank alone must not wait for the others.
            buffers.abandon()
            self._core.lib.ws_transport_abandon(transport)
            raise
        buffers.close()
        self._core.check(self._core.lib.ws_transport_close(transport))

    def _try_and_measure(self, path: Path, transport: Any, buffers: Buffers, sizes: Sequence[int]) -> None:
        pattern, shape = self._setting.pattern, self._setting.shape
        fixed = pattern.fixed_sizes(shape)
        trial = TRIAL_SIZES if fixed is None else fixed
        if path.tried_first and not self._all_sizes(path, transport, buffers, trial, trial=True):
            return
        details = self._core.described(self._core.lib.ws_transport_describe(transport))
        self._tell({"kind": "accepted", "details": details})
        # A library may set up more for buffers that it has seen in a trial.
        buffers.close()
        self._all_sizes(path, transport, buffers, sizes)
        self._count_all(path, transport, buffers, sizes)

    def _open_transport(self, path: Path) -> Any:
        instead = dict(self._plan.test).get("instead")
        own = "" if instead else path.option_text()
        options = ";".join(filter(None, (own, self._transport_options)))
        return self._core.check(
            self._core.lib.ws_transport_open(
                (instead or path.transport).encode(),
                options.encode(),
                self._control,
                self._setting.device,
                self._watched.page,
            )
        )

    def _count_all(self, path: Path, transport: Any, buffers: Buffers, sizes: Sequence[int]) -> None:
        """Which wires carry it: after all figures, so that none of them can suffer from the counting.

        What another pattern moves at the same time would be counted as ours.
        """
        # Inside a launcher each rank reads its own command line and environment.
        if not self._setting.world.share(self._plan.evidence and not self._plan.background):
            return
        runs = CountedRuns(self._setting, path)
        try:
            if runs.able:
                self._tell({"kind": "wires", "path": path.name, "wires": runs.wires()})
                self._all_sizes(path, transport, buffers, sizes, runs=runs)
        finally:
            runs.close()

    def _all_sizes(
        self,
        path: Path,
        transport: Any,
        buffers: Buffers,
        sizes: Sequence[int],
        trial: bool = False,
        runs: CountedRuns | None = None,
    ) -> bool:
        """Goes through the sizes; False if one failed. A trial ends there, and its failure is the path's.

        `runs`: bytes are counted and nothing is measured; what fails then has no figure to spoil.
        """
        good = True
        needs = [buffers.needed(size) for size in sizes]
        for index, (size, needed) in enumerate(zip(sizes, needs, strict=True)):
            patience = stuck_after(self._plan, max(size, needed))
            self._watched.stage(path.name, size, patience)
            if not trial and not runs:
                self._tell(
                    {"kind": "progress", "path": path.name, "bytes": size, "index": index, "of": len(sizes)}
                )
            try:
                held = buffers.hold(needed, needs, partial(self._allocating, path, size))
                self._watched.stage(path.name, size, patience)
                one = OneSize(self._setting, path, transport, held, size, (index, len(sizes)))
                if runs:
                    one.count(runs)
                else:
                    one.try_only() if trial else one.measure()
            except Unusable as error:
                good = False
                if not runs:
                    self._failure(error.what, str(error), size, fatal=trial)
            except Mismatch as error:
                good = False
                self._failure("mismatch", str(error), size, rank=error.rank, fatal=trial)
            if trial and not good:
                break
        return good

    def _allocating(self, path: Path, size: int, most: int) -> None:
        """The watchdog waits as long as this many bytes may take."""
        self._watched.stage(path.name, size, stuck_after(self._plan, most))

    def _failure(
        self, what: str, text: str, size: int | None, rank: int | None = None, fatal: bool = False
    ) -> None:
        self._tell(
            {"kind": "failure", "what": what, "text": text, "bytes": size, "rank": rank, "fatal": fatal}
        )
