"""Measuring from a program, a notebook or a test: the command in a process of its own, and its results."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.host.process import end
from wirespeed.results.reading import Results, read

SURVEY = "survey"
MARK = "wirespeed: "
"""Begins the line in which the command says why it ends."""
ENDING_S = 10.0
"""Seconds in which an interrupted command comes to its end."""


def measure(pattern: str, **options: Any) -> Results:
    """Measures as `wirespeed PATTERN --OPTION VALUE` does, and returns what wirespeed.load does of its file.

    An option's name has underscores for dashes; its value is a word, a number, a list of those, or True for
    an option without a value: measure("pingpong", paths=["host"], sizes=[8, "1M"], within=10). Without `out`
    no file is left behind.

    Raises WirespeedError with the command's line and exit code (`code`) for every code but 0; `results` then
    has what was measured all the same, or is None. KeyboardInterrupt ends the command first.
    """
    words = [str(pattern), *_words(options)]
    if pattern != SURVEY:
        from wirespeed.patterns import find_pattern

        find_pattern(str(pattern))
    if out := options.get("out"):
        return _measured(words, Path(out))
    # Nothing defers Ctrl-C here: it is this program's.
    with tempfile.TemporaryDirectory(prefix="wirespeed-measure-") as folder:
        file = Path(folder, "results.jsonl")
        return _measured([*words, f"--out={file}"], file)


def _words(options: dict[str, Any]) -> list[str]:
    """['--sizes', '8,1M', '--no-evidence'] of {'sizes': [8, '1M'], 'no_evidence': True}."""
    words: list[str] = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            words.append(f"{option}={','.join(map(str, value))}")
        else:
            words.append(f"{option}={value}")
    return words


def _measured(words: list[str], file: Path) -> Results:
    # What another measurement has left there is no result of this one.
    earlier = file.exists() and "--resume" not in words
    # The name of its script: the package that this module lies in, whatever sys.path may lead to.
    command = [sys.executable, str(Path(__file__).parent), *words]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        _, said = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=ENDING_S)
        raise
    finally:
        end(process)
    results = read(file) if file.exists() and not earlier else None
    if process.returncode == ExitCode.OK and results:
        return results
    raise _error(process.returncode, said, results)


def _error(code: int, said: str, results: Results | None) -> WirespeedError:
    if code == ExitCode.OK:
        return WirespeedError("the command measured nothing: leave out what only prints (dry_run, help)")
    known = ExitCode(code) if code in [*ExitCode] else ExitCode.FAILED_ENTRY
    lines = [line for line in said.splitlines() if line.startswith(MARK)]
    lines = [line.removeprefix(MARK) for line in lines if not line.startswith(f"{MARK}warning")]
    text = lines[-1] if lines else _what_failed(results) or f"the command ended with exit code {code}"
    error = WirespeedError(text, known)
    error.results = results
    return error


def _what_failed(results: Results | None) -> str:
    """The first failure, in a line."""
    from wirespeed.report.facts.figures import failure_head, failure_text

    if results is None:
        return ""
    told = [f"{failure_head(failure)}: {failure_text(failure)}" for failure in results.failures]
    told += [f"impossible: {text}" for end in results.ends for text in end.impossible]
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return f"{told[0]}{more}" if told else ""
