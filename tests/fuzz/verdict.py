"""What must hold of every case, whatever it was."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from fuzz import hostile
from fuzz.cases import Case
from fuzz.in_process import Noted

from wirespeed.cli.main import PIPE_CLOSED
from wirespeed.errors import ExitCode

CODES = {*map(int, ExitCode), PIPE_CLOSED}
ONE_LINE = (ExitCode.USAGE, ExitCode.CANNOT_WRITE, ExitCode.WRONG_WORLD)
HARMLESS = re.compile(
    r"subprocess\.Popen \('\S*"
    r"(bash', \['\S*bash', '-n'\]|', \['\S*', '--version'\]|python\S*', \['\S*', '-S', '-c', )"
)
"""Programs that only look: at a line of shell, an MPI's version, and whether memory of others may be read."""
LONGEST = 1000


def wrong(case: Case, noted: Noted, folder: Path) -> Iterator[str]:
    """What should not be; nothing for a case that ended well."""
    yield from wrong_ending(case.environment, noted.code, noted.out, noted.err)
    yield from executed(folder)
    # The user's own folder in shared memory is made by whoever needs it first.
    own = (folder, Path(os.devnull), Path("/dev/full"), Path(f"/dev/shm/wirespeed-{os.getuid()}"))
    for file in noted.written:
        if not any(file == place or place in file.parents for place in own) and not _temporary(file):
            yield f"wrote {file}, outside of its folder"
    for program in noted.started:
        if not HARMLESS.match(program):
            yield f"started {program}"


def wrong_ending(environment: Mapping[str, str], code: int, out: str, err: str) -> Iterator[str]:
    """What is wrong with the exit code and with what was printed."""
    if code not in CODES:
        yield f"exit code {code}, which is not documented"
    for word in ("Traceback", "wirespeed: unexpected "):
        if word in err:
            yield f"'{word}' in what it says"
    if "FORCE_COLOR" in environment:
        err = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", err)
    said = [line for line in err.split("\n") if line.startswith("wirespeed: ")]
    errors = [line for line in said if not line.startswith(("wirespeed: warning: ", "wirespeed: asking "))]
    silent = any(name.startswith(hostile.STARTS_RANKS) for name in environment)
    if code in ONE_LINE and len(errors) != 1 and not (silent and not errors):
        yield f"code {code} with {len(errors)} lines that say why"
    if code == ExitCode.USAGE and out:
        yield "a wrong option, and a result"
    if any(len(line) > LONGEST for line in said):
        yield "a line that nobody reads to its end"
    if "FORCE_COLOR" not in environment and re.search("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", out + err):
        yield "a control character for the terminal"


def executed(folder: Path) -> Iterator[str]:
    """A text of the case that was run as a command."""
    for place in (folder, Path.cwd(), Path.home()):
        if (place / hostile.CANARY).exists():
            yield f"a text was run as a command: {place / hostile.CANARY}"
            (place / hostile.CANARY).unlink()


def _temporary(file: Path) -> bool:
    temporary = Path(tempfile.gettempdir())
    return temporary in file.parents and file.relative_to(temporary).parts[0].startswith("wirespeed-")


def judged(found: list[str]) -> None:
    """`found`: what is wrong, case by case."""
    assert not found, f"{len(found)} cases:\n\n" + "\n\n".join(found[:20])
