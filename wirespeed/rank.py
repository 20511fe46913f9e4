"""What each rank executes: choose a device, join the world, measure one path, say what was found."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from wirespeed import devices, launch, messages
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.native import Core, NativeError, core
from wirespeed.orders import Orders, startup_limit
from wirespeed.page import lost, own_folder
from wirespeed.tether import die_with_parent

_RELOAD = ("LD_LIBRARY_PATH", "LD_PRELOAD")


def carry(variables: dict[str, str]) -> None:
    """Sets what the launcher did not carry; starts the process anew where only the loader reads it."""
    reload_needed = any(
        name in _RELOAD and os.environ.get(name) != value for name, value in variables.items()
    )
    os.environ.update(variables)
    if reload_needed and os.environ.get("WIRESPEED_RELOADED") != "1":
        os.environ["WIRESPEED_RELOADED"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


class Watched:
    """This rank's status page and watchdog."""

    def __init__(
        self, opened: Core, run: str, rank: int, reports: int, give_up: bool, read_here: bool = True
    ) -> None:
        """`read_here`: somebody on this host reads the files; else no names of theirs may stay behind."""
        self._core, self._reports, self._give_up = opened, reports, give_up
        folder = own_folder(run if read_here else f"{run}-{rank}")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.file = folder / f"{rank}.page"
        self._stack = folder / f"{rank}.python"
        self.page = opened.check(opened.lib.ws_page_open(str(self.file).encode(), rank))
        self._python = self._stack.open("w")
        stack = str(self._stack)
        if not read_here:
            self.close()
            stack = f"/proc/self/fd/{self._python.fileno()}"
        self.catch()
        opened.check(opened.lib.ws_watchdog_start(self.page, reports, stack.encode(), int(give_up)))
        faulthandler.register(opened.lib.ws_stack_signal(), file=self._python, all_threads=False, chain=True)

    def catch(self) -> None:
        """Puts the crash handlers in place, again after a library has put its own there."""
        opened = self._core
        opened.check(opened.lib.ws_page_catch_crashes(self.page, self._reports, int(self._give_up)))

    def stage(self, path: str, size: int, timeout: float) -> None:
        self._core.lib.ws_page_stage(self.page, path.encode(), size, timeout)

    def close(self) -> None:
        """Removes the files; the last rank of a host takes the folder with it."""
        for file in (self.file, self._stack):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self.file.parent.rmdir()


def open_device(opened: Core, kind: str, between: tuple[int, ...], rank: int, local: int) -> Any:
    """This rank's device, or the host. A CPU named by --between is where the process is pinned."""
    if kind == "host" and between:
        try:
            os.sched_setaffinity(0, {between[rank % len(between)]})
        except OSError:
            allowed_cpus(between)
    index = devices.pick(kind, devices.count(opened, kind), rank, local, between)
    return opened.open_device(kind, index)


def allowed_cpus(between: tuple[int, ...]) -> None:
    """Raises WirespeedError when --between names a CPU that this process may not run on."""
    for cpu in between:
        if cpu not in os.sched_getaffinity(0):
            raise WirespeedError(
                f"--between {','.join(map(str, between))}: this process may not run on CPU {cpu}; "
                f"allowed: {_cpus()}"
            )


def _cpus() -> str:
    """This process's CPUs as '0-3,8'."""
    cpus = sorted(os.sched_getaffinity(0))
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in spans)


def describe_self(opened: Core, device: Any, rank: int, kind: str) -> dict[str, Any]:
    """This rank's line in the record: who and where it is."""
    identity = opened.identity(device)
    return {
        "rank": rank,
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "cpus": _cpus(),
        "device": None if kind == "host" else identity,
    }


def main(word: str) -> NoReturn:
    """Runs the orders; never returns, so that no library's exit handler can undo the exit code."""
    started = time.monotonic()
    orders = Orders.decode(word)
    carry(orders.variables)
    die_with_parent()
    rank = launch.global_rank()
    code = ExitCode.OK
    try:
        _serve(orders, rank, started)
    except WirespeedError as error:
        code = error.code
        messages.send({"kind": "error", "rank": rank, "text": str(error), "code": int(code)})
    except NativeError as error:
        code = ExitCode.FAILED_ENTRY
        _fail(orders, rank, str(error), code)
    except Exception as error:
        code = ExitCode.FAILED_ENTRY
        _fail(orders, rank, f"{type(error).__name__}: {error}", code, traceback.format_exc().splitlines())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


def _fail(orders: Orders, rank: int, text: str, code: ExitCode, python: Sequence[str] = ()) -> None:
    """Says what failed, and which ranks were gone by then: a call fails when the peer has died, too."""
    told = {"kind": "error", "rank": rank, "text": text, "code": int(code), "python": list(python)}
    messages.send({**told, "lost": lost(own_folder(orders.run), 0.05)})
    # The launcher ends all others once this one has: whoever watches shall see an earlier death by itself.
    time.sleep(0.3)


def _serve(orders: Orders, rank: int, started: float) -> None:
    from wirespeed.measure import Measurement

    opened = core()
    here = orders.host == os.uname().nodename
    watched = Watched(opened, orders.run, rank, reports=1, give_up=False, read_here=here)
    watched.stage("start", 0, startup_limit(orders.plan))
    device = open_device(opened, orders.device, orders.plan.between, rank, launch.local_rank())

    from wirespeed.world import World

    world = World(orders.promise)
    watched.catch()
    opened.check(opened.lib.ws_mpi_open(world.library.encode(), world.handle()))
    ranks = world.gather(describe_self(opened, device, world.rank, orders.device))
    if world.rank == 0:
        messages.send(
            {
                "kind": "hello",
                "ranks": ranks,
                "mpi": {
                    "vendor": world.vendor,
                    "version": world.version,
                    "string": world.string.splitlines()[0],
                    "library": str(Path(world.library)),
                },
                "startup_s": time.monotonic() - started,
            }
        )
    tell = messages.send if world.rank == 0 else _silent
    measurement = Measurement(opened, world, device, watched, orders.plan, tell)
    measurement.run(orders.path, orders.step, orders.sizes)
    watched.stage("end", 0, 30.0)
    if world.rank == 0:
        messages.send({"kind": "done"})
    watched.close()
    world.leave()


def _silent(message: messages.Message) -> None:
    """Ranks other than 0 have nothing to tell."""
