"""A second pattern that runs during a measurement (--with): what do they cost each other?"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from wirespeed import interrupts
from wirespeed.errors import WirespeedError
from wirespeed.frontend import command
from wirespeed.host.process import end, last_line
from wirespeed.host.temporary import temporary_folder
from wirespeed.job.path_selection import lacks, select
from wirespeed.job.plan import Plan
from wirespeed.paths import find_path
from wirespeed.patterns import find_pattern
from wirespeed.statistics.stopping import Stopping
from wirespeed.units import format_size, parse_size

DEFAULT_SIZE = 16 << 20
START_SECONDS = 120.0
"""It must move bytes by then."""


@dataclass(frozen=True)
class Load:
    """`PATTERN:PATH:SIZE` of --with."""

    pattern: str
    path: str
    size: int

    def __str__(self) -> str:
        return f"{self.pattern}:{self.path}:{format_size(self.size).replace(' ', '').replace('iB', '')}"


def parse(word: str) -> Load:
    """Raises WirespeedError for a pattern, a path or a size that there is not, or a path that lacks it."""
    pattern, _, rest = word.partition(":")
    path, _, size = rest.partition(":")
    if not path:
        raise WirespeedError(
            f"--with '{word}': write PATTERN:PATH or PATTERN:PATH:SIZE, as in stream:host:16M"
        )
    found = find_pattern(pattern)
    if any(option.metavar == "FILE" for option in found.options):
        raise WirespeedError(f"--with {pattern}: it needs a file, which --with cannot name")
    carrier = find_path(path)
    select([path], intra_rank=found.kind.intra_rank)
    if why := lacks(carrier, found):
        raise WirespeedError(f"{pattern}:{path}: {why}")
    return Load(pattern, path, parse_size(size) if size else DEFAULT_SIZE)


def background_plan(load: Load, plan: Plan, out: Path) -> Plan:
    """The other job: the same MPI, device and ranks, one phase of one size, and no end."""
    pattern = find_pattern(load.pattern)
    ranks = pattern.rank_rule.exact or plan.ranks
    return replace(
        plan,
        pattern=load.pattern,
        paths=(load.path,),
        sizes=(load.size,),
        options=tuple((option.key, option.default) for option in pattern.options),
        ranks=ranks,
        between=plan.between if ranks == plan.ranks else (),
        stopping=Stopping(precision=1e-6, max_time=86399),
        reported_phase_only=True,
        evidence=False,
        background=None,
        profile=None,
        timeline=None,
        timing=False,
        out=str(out),
        resume=False,
        test=(),
    )


@contextmanager
def running(plan: Plan) -> Iterator[None]:
    """The other pattern moves bytes while the body runs. Raises WirespeedError when it does not, or stops."""
    if not plan.background:
        yield
        return
    with temporary_folder("background") as folder:
        out, log = folder / "background.jsonl", folder / "log"
        background = background_plan(parse(plan.background), plan, out)
        with log.open("wb") as written:
            process = subprocess.Popen(
                command(background),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=written,
                start_new_session=True,
            )
        try:
            _wait_until_it_moves(process, plan.background, out, log)
            yield
            if process.poll() is not None:
                raise WirespeedError(f"--with {plan.background} ended before the measurement: {_last(log)}")
        finally:
            end(process)


def _wait_until_it_moves(process: subprocess.Popen[bytes], name: str, out: Path, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise WirespeedError(f"--with {name} did not start: {_last(log)}")
        with suppress(OSError):
            if '"kind":"step"' in out.read_text():
                interrupts.sleep(1.0)  # from the first checked message to the first timed one
                return
        interrupts.sleep(0.05)
    raise WirespeedError(f"--with {name} moved nothing in {START_SECONDS:.0f} s: {_last(log)}")


def _last(log: Path) -> str:
    return last_line(log.read_text(errors="replace")) or "it said nothing"
