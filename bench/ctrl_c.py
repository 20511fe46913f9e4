"""How a run ends after Ctrl-C on a terminal at a random moment of its first second.

    .venv/bin/python bench/ctrl_c.py [--tries 1000] [--seed 1] [--from 0.0] [--until 1.0] [-- pingpong ...]

From its first line on, a command must end with 130 within 2 s, and leave no process; before, Python ends it
in its own way. The exit code is 1 where one did not.
"""

from __future__ import annotations

import ctypes
import os
import pty
import random
import select
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from common import COMMAND, parser

from wirespeed.cli import start

SOON_S = 2.0
PATIENCE_S = 15.0
WORDS = ["pingpong", "--paths", "host,host-tcp", "--sizes", "8:64K", "--device", "cpu"]
MARK = "WIRESPEED_BENCH_TRY"
IN_OPEN = 0x20


class Opened:
    """Whether a process has opened the module of our first line, which inotify(7) tells."""

    def __init__(self) -> None:
        source = Path(start.__file__)
        # Python opens its compiled form alone, once there is one.
        files = [source, *source.parent.glob("__pycache__/start.*.pyc")]
        libc = ctypes.CDLL(None, use_errno=True)
        self._queue = libc.inotify_init1(os.O_NONBLOCK)
        for file in files:
            if libc.inotify_add_watch(self._queue, os.fsencode(file), IN_OPEN) < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(file))

    def seen(self) -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(self._queue, 4096))
        return False

    def close(self) -> None:
        os.close(self._queue)


class Ending(NamedTuple):
    """How one try ended."""

    after: float
    """Moment of Ctrl-C, in seconds from the start."""
    code: int | None
    """None: it hung."""
    ours: bool
    """Had it come to our first line?"""
    took: float
    """Seconds from Ctrl-C to its end."""
    text: str
    left: bool
    """Did it leave processes behind?"""

    @property
    def good(self) -> bool:
        """As it must be, however long it took."""
        if self.code is None or self.left:
            return False
        return not self.ours or (self.code == 130 and not self._traceback)

    @property
    def kind(self) -> str:
        """Words for the table."""
        ended = "hung" if self.code is None else "SIGINT" if self.code == -signal.SIGINT else str(self.code)
        late = f"after more than {SOON_S:.0f} s" if self.took > SOON_S else ""
        where, spoke = "" if self.ours else "before our first line", "traceback" if self._traceback else ""
        return ", ".join(filter(None, (ended, where, spoke, late, "processes left" if self.left else "")))

    @property
    def _traceback(self) -> bool:
        return "Traceback" in self.text or "unexpected" in self.text


def one(words: list[str], after: float, patience: float = PATIENCE_S) -> Ending:
    """Starts the command on a terminal of its own, and presses Ctrl-C."""
    opened = Opened()
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    # What is pressed before the command has the terminal, or is the command, waits for it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    began = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvpe(COMMAND, [COMMAND, *words], {**os.environ, MARK: mark, "TERM": "xterm"})
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    while os.tcgetpgrp(terminal) != pid:
        time.sleep(0.001)
    shown = _read(terminal, began + after)
    ours = opened.seen()
    opened.close()
    pressed = time.monotonic()
    with suppress(OSError):
        os.write(terminal, b"\x03")
    code: int | None = None
    while code is None and time.monotonic() < pressed + patience:
        shown += _read(terminal, time.monotonic() + 0.005)
        done, status = os.waitpid(pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if done else None
    took = time.monotonic() - pressed
    shown += _read(terminal, time.monotonic() + 0.01)
    if code is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(terminal)
    return Ending(after, code, ours, took, shown.decode(errors="replace"), bool(_left(mark)))


def _read(terminal: int, until: float) -> bytes:
    found = b""
    while (wait := until - time.monotonic()) > 0 and select.select([terminal], [], [], wait)[0]:
        try:
            found += os.read(terminal, 1 << 16)
        except OSError:  # nobody has it open any more
            time.sleep(max(0.0, min(until - time.monotonic(), 0.01)))
    return found


def _left(mark: str) -> list[str]:
    """Processes of this try that are still there, a moment later."""
    wanted = f"{MARK}={mark}".encode()
    deadline = time.monotonic() + 1.0
    while found := [process.name for process in Path("/proc").glob("[0-9]*") if _has(process, wanted)]:
        if time.monotonic() > deadline:
            for name in found:
                with suppress(ProcessLookupError):
                    os.kill(int(name), signal.SIGKILL)
            return found
        time.sleep(0.05)
    return []


def _has(process: Path, wanted: bytes) -> bool:
    with suppress(OSError):
        return wanted in (process / "environ").read_bytes().split(b"\0")
    return False


def main() -> None:
    options = parser(__doc__, tries=1000, seed=1, until=1.0, words=[])
    options.add_argument("--from", type=float, default=0.0, dest="begin")
    options.add_argument("--show", action="store_true", help="what those printed that ended otherwise")
    given = options.parse_args()
    moments = random.Random(given.seed)
    endings: dict[str, list[Ending]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.tries):
            out = str(Path(folder, f"{number}.jsonl"))
            after = moments.uniform(given.begin, given.until)
            ending = one([*(given.words or WORDS), "--out", out], after)
            endings[ending.kind].append(ending)
            if given.show and not ending.good:
                print(f"--- {ending.kind}: Ctrl-C at {ending.after:.3f} s\n{ending.text}", file=sys.stderr)
    load = os.getloadavg()[0]
    print(f"{given.tries} tries, seed {given.seed}, {os.cpu_count()} CPUs, load {load:.1f}")
    for kind, found in sorted(endings.items(), key=lambda item: -len(item[1])):
        took = [ending.took for ending in found]
        moment = [ending.after for ending in found]
        print(
            f"{len(found):5d}  {kind}: Ctrl-C at {min(moment):.3f} to {max(moment):.3f} s, "
            f"the end {statistics.median(took):.2f} s later, at most {max(took):.2f} s"
        )
    bad = [
        ending for found in endings.values() for ending in found if not ending.good or ending.took > SOON_S
    ]
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
