"""What each rank executes: choose a device, join the world, measure one path, say what was found."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from wirespeed import launch
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.core import NativeError, core
from wirespeed.host.tether import die_with_parent
from wirespeed.job import messages
from wirespeed.job.status_page import lost, own_folder
from wirespeed.job.step_spec import Orders, startup_limit
from wirespeed.rank.startup import carry, describe_self, open_device
from wirespeed.rank.watchdog import Watched


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
    from wirespeed.rank.path_run import Measurement

    opened = core()
    here = orders.host == os.uname().nodename
    watched = Watched(opened, orders.run, rank, reports=1, give_up=False, read_here=here)
    watched.stage("start", 0, startup_limit(orders.plan))
    device = open_device(opened, orders.device, orders.plan.between, rank, launch.local_rank())

    from wirespeed.rank.communicator import World

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
    measurement.run(orders.path, orders.sizes)
    watched.stage("end", 0, 30.0)
    if world.rank == 0:
        messages.send({"kind": "done"})
    watched.close()
    world.leave()


def _silent(message: messages.Message) -> None:
    """Ranks other than 0 have nothing to tell."""
