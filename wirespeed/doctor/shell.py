"""Text for a shell: values quoted, explanations as comments, control characters visible."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

LONGEST = 120
"""Characters of a value that a title or a note shows."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMMAND = re.compile(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|(?<=\S)\#|[^'"\\\#])*""", re.DOTALL)
"""Everything before the '#' of a comment: not one within quotes or within a word."""
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """One line: what is not printable as an escape sequence, line separators of Unicode included."""
    return (
        text
        if text.isprintable()
        else "".join(name if name.isprintable() else _escape(name) for name in text)
    )


def _escape(letter: str) -> str:
    number = ord(letter)
    short = f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}"
    return _NAMED.get(letter, short if number < 0x10000 else f"\\U{number:08x}")


def quoted(value: str) -> str:
    """The value as one word of a shell on one line, where necessary as $'...' with escape sequences."""
    if value.isprintable():
        return shlex.quote(value)
    escaped = visible(value.replace("\\", "\\\\").replace("'", "\\'"))
    return f"$'{escaped}'"


def assigned(name: str, value: str) -> str:
    """NAME=value as a title or a note shows it: quoted, and shortened where it is long."""
    short = value if len(value) <= LONGEST else f"{value[: LONGEST - 3]}..."
    return f"{visible(name)}={quoted(short)}"


def exports(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Shell lines that set these variables."""
    return tuple(f"export {name}={quoted(value)}" for name, value in variables.items())


def split(line: str) -> tuple[str, str]:
    """A remedy's command and its explanation, which follows a '#'; either may be empty."""
    found = _COMMAND.match(line)
    end = found.end() if found else 0
    if line[end : end + 1] != "#":
        return line.strip(), ""
    return line[:end].strip(), line[end + 1 :].strip()


def comment(text: str) -> str:
    """The text as one comment line."""
    return f"# {visible(text).removeprefix('#').strip()}"


def own_shell(line: str) -> str:
    """The line written anew, if all it does is to change a variable or a limit of this shell; else ''."""
    command, explained = split(line)
    try:
        # Python knows no $'...'.
        words = [] if "$'" in command else shlex.split(command)
    except ValueError:
        return ""
    match words:
        case ["export", pair] if "=" in pair and _NAME.fullmatch(pair.partition("=")[0]):
            name, _, value = pair.partition("=")
            made = f"export {name}={quoted(value)}"
        case ["unset", name] if _NAME.fullmatch(name):
            made = f"unset {name}"
        case ["ulimit", "-l", amount] if re.fullmatch("unlimited|[0-9]+", amount):
            made = f"ulimit -l {amount}"
        case _:
            return ""
    return f"{made}  {comment(explained)}" if explained else made
