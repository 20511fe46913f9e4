"""Records with neutral names of hosts, users and folders, to be given away.

A name is replaced by the same one in all records. Names are found where records have hosts, and in paths.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import to_builtins

from wirespeed import inputs
from wirespeed.host.process import host_name
from wirespeed.host.variables import shareable
from wirespeed.results.decoding import DoesNotFit, cleaned
from wirespeed.results.reading import Results, decoded

_HOSTS = ("host", "hosts")
"""Members that hold names of hosts."""
_FILES = ("command", "out", "picture", "timeline", "mpi", "options", "file")
"""Members in which a path may be relative."""
_FIXED = (
    *("kind", "run", "pattern", "path", "paths", "memory", "into", "transport", "without", "what", "verdict"),
    *("definition", "stopped", "status", "started", "ended", "at", "allocator", "device", "wirespeed"),
)
"""Members in which no name occurs, but perhaps a word that is a host's name as well."""
_NOBODY = ("localhost", "root", "unknown")
_HOMES = re.compile(r"/(?:home|users|Users|u)/([\w.-]+)")
_BUILDER = re.compile(r"\S+@\S+(?= Distribution)")
"""Open MPI's own version text says who built it, and where."""
_END = r"[^\s:;,\"'()\[\]{}<>|=]*"
_ABSOLUTE = re.compile(rf"(?:~[\w.-]*|(?<=file://)|(?<![\w./~])(?!//))/{_END}")
_RELATIVE = re.compile(rf"(?<![\w./~-])[\w.-]+/{_END}")
_RATE = re.compile(r".*/s")
_SYSTEM = ("/usr/", "/lib", "/bin/", "/sbin/", "/proc/", "/sys/", "/dev/", "/etc/")
_ENDING = r"(?:so[\d.]*|py|jsonl?|toml|csv|html|md|pdf|png|svg|conf|log|txt)(?:\.gz)?"
_FILE = re.compile(rf"[\w.+-]+\.{_ENDING}")
_DOMAIN = rf"(?:\.(?!{_ENDING}(?!\w))[A-Za-z][\w-]*)*"


def shared(results: Results) -> list[Any]:
    """Its records as JSON with neutral names, and without variables that may be private.

    Kinds of records and members that only newer versions know stay in them.
    """
    values = []
    for line in inputs.lines(results.file):
        with suppress(DoesNotFit, RecursionError):
            decoded(line)
            values.append(cleaned(inputs.of_json(line)))
    values = values or [to_builtins(record) for record in results.records]
    names = _Names(values)
    return [names.neutral(value) for value in values]


def _texts(value: Any, member: str = "") -> Iterator[tuple[str, str]]:
    """(member, text) of all texts in a record."""
    if isinstance(value, str):
        yield member, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, name)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item, member)


def _user() -> list[str]:
    with suppress(KeyError):
        return [pwd.getpwuid(os.getuid()).pw_name]
    return []


class _Names:
    """Neutral names by those in the records."""

    def __init__(self, values: Iterable[Any]) -> None:
        texts = [pair for value in values for pair in _texts(value)]
        hosts = [*(text for member, text in texts if member in _HOSTS), host_name()]
        users = [*(name for _, text in texts for name in _HOMES.findall(text)), *_user()]
        self._folders: dict[str, str] = {}
        self._words: dict[str, str] = {}
        for kind, names in (("host", hosts), ("user", users)):
            known = dict.fromkeys(name.partition(".")[0] if kind == "host" else name for name in names)
            good = [name for name in known if len(name) > 1 and name.lower() not in _NOBODY]
            self._words |= {name.lower(): f"{kind}{number}" for number, name in enumerate(good, 1)}
        longest = sorted(map(re.escape, self._words), key=len, reverse=True)
        some = rf"(?<!\w)({'|'.join(longest)})(?!\w){_DOMAIN}"
        self._word = re.compile(some if longest else "(?!)", re.IGNORECASE)

    def neutral(self, value: Any, member: str = "") -> Any:
        """The value with neutral names."""
        if isinstance(value, str):
            return value if member in _FIXED else self._text(value, member)
        if isinstance(value, Mapping):
            kept = shareable(value) if member == "variables" else value
            return {name: self.neutral(item, name) for name, item in kept.items()}
        if isinstance(value, (list, tuple)):
            return [self.neutral(item, member) for item in value]
        return value

    def _text(self, text: str, member: str) -> str:
        if text.startswith(("/", "~")) and ":" not in text:
            text = self._path(text)  # whole, with the blanks in it
        else:
            text = _ABSOLUTE.sub(lambda found: self._path(found[0]), text)
            if member in _FILES:
                text = _RELATIVE.sub(lambda found: self._path(found[0]), text)
        if member == "string":
            text = _BUILDER.sub("user@host", text)
        return self._word.sub(lambda found: self._words[found[1].lower()], text)

    def _path(self, path: str) -> str:
        """'/folder3/libmpi.so.40' of a file; the last part of another path may be a name, too."""
        if path.startswith(_SYSTEM) or _RATE.fullmatch(path):
            return path
        end = path[len(path.rstrip(".")) :]
        path = path.rstrip(".")
        folder, _, name = path.rpartition("/")
        if not _FILE.fullmatch(name):
            folder, name = path.rstrip("/"), ""
        if not folder.strip("~"):
            return path + end
        neutral = self._folders.setdefault(folder, f"/folder{len(self._folders) + 1}")
        return f"{neutral}/{name}{end}" if name else neutral + end
