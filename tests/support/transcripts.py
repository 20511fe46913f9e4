"""Transcripts: files that cases need, the commands, and all that they print; tests/golden/**/*.transcript.

A case begins with "== TITLE", a file with "-- NAME"; each line of a result file is a record (see `records`),
those of a folder ("-- NAME/") plant faults in a fleet (see `fleet_files.planted`).
"$ VARIABLE=VALUE wirespeed WORDS" is a command, whose output stands below it, indented; so is "$ cat FILE",
and "$ text FILE NAME": what a page shows in each element of this id or class. "| grep TEXT" keeps the lines
that have the text.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support import fleet_files
from support.records import end, entry, failure, head, step

from wirespeed.cli.main import main
from wirespeed.units import parse_size, parse_sizes

Record = dict[str, Any]
Command = Callable[[list[str], dict[str, str]], str]
INDENT = "    "
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
TIME = re.compile(
    r"(?P<time>[\d.e-]+)(?P<unit>[mun]?s)(\+(?P<each>[\d.e-]+)ps/B)?(\*(?P<factors>[\d.|]+))?"
    r"(±(?P<share>[\d.]+)%)?(~(?P<jitter>[\d.]+)%)?"
)


@dataclass
class Case:
    """A title, files by their names, and commands."""

    title: str
    files: dict[str, list[str]] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    def run(self, command: Command) -> str:
        """Writes the files here, runs the commands, and returns the case as its text should be."""
        lines = [f"== {self.title}"]
        for name, content in self.files.items():
            lines += [f"-- {name}", *content]
            write(name, content)
        for line in self.commands:
            whole, _, wanted = line.partition(" | grep ")
            words = shlex.split(whole)
            variables: dict[str, str] = {}
            while "=" in words[0]:
                variables |= [words.pop(0).split("=", 1)]  # type: ignore[list-item]
            lines.append(f"$ {line}")
            said = command(words, variables).splitlines()
            lines += [f"{INDENT}{text}".rstrip() for text in said if wanted in text]
        return "".join(f"{line}\n" for line in lines)


def cases(text: str) -> tuple[str, list[Case]]:
    """The introduction, and the cases of a transcript."""
    intro, *parts = re.split(r"^== ", text, flags=re.MULTILINE)
    found = []
    for part in parts:
        title, *lines = part.splitlines()
        case, content = Case(title), list[str]()
        for line in lines:
            if line.startswith("-- "):
                content = case.files.setdefault(line[3:], [])
            elif line.startswith("$ "):
                case.commands.append(line[2:])
            elif not case.commands and line:
                content.append(line)
        found.append(case)
    return intro.rstrip() + "\n", found


def write(name: str, content: list[str]) -> None:
    """One file, or one for each number: old/1-5.jsonl; or the files of a fleet, in NAME/."""
    if name.endswith("/"):
        fleet_files.planted(Path(name), content)
        return
    stem, numbers, suffix = re.fullmatch(r"(.*?)(\d+-\d+)?(\.\w+|)", name).groups()  # type: ignore[union-attr]
    first, _, last = (numbers or "1-1").partition("-")
    for number in range(int(first), int(last) + 1):
        file = Path(f"{stem}{number}{suffix}" if numbers else name)
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = content
        if suffix == ".jsonl" and content:
            made = records(content, number - 1, random.Random(str(file)))
            lines = [one if isinstance(one, str) else json.dumps(one) for one in made]
        file.write_text("".join(f"{line}\n" for line in lines))


def records(lines: list[str], number: int, dice: random.Random) -> Iterator[Record | str]:
    """Records of a result file, of which each line says only what counts.

    run MEMBER=JSON ...: another run; a dot in a member's name leads into it.
    end STATUS: how the run ended, "never" for not at all.
    step PATH MEMBER=JSON ...
    failure PATH SIZE WHAT: TEXT => REMEDY; SIZE "-": of the path as a whole.
    {...}: any other record; raw TEXT: a line that is none.
    PATH,PATH SIZES TIME MEMBER=JSON ...: entries; TIME as 1us+2ps/B*1.5±3%~1%: with its half interval,
    and a chance of its own; *1|2: once for the first launch, twice for the second.
    """
    lines = lines if re.match(r"(run|raw)\b", lines[0]) else ["run", *lines]
    name, ended, pattern = "", True, ""
    for line in lines:
        word, _, rest = line.partition(" ")
        more = members(rest) if word in ("run", "step") or TIME.search(rest) else {}
        if word == "run":
            if not ended:
                yield {**end(), "run": name}
            ended, record = False, merged(head(), {"run": f"{dice.getrandbits(48):012x}", **more})
            name, pattern = record["run"], record["plan"]["pattern"]
            yield record
        elif word == "end":
            ended = True
            if rest != "never":
                yield {**end(rest), "run": name}
        elif word == "step":
            yield {**merged(step(rest.split()[0]), more), "run": name}
        elif word == "failure":
            path, size, rest = rest.split(" ", 2)
            what, _, text = rest.partition(":")
            text, _, remedy = text.strip().partition(" => ")
            at = None if size == "-" else parse_size(size)
            yield {**failure(path, at, what, text, remedy or None), "run": name}
        elif word == "raw":
            yield rest
        elif line.startswith("{"):
            yield {**json.loads(line), "run": name}
        else:
            sizes, time, *_ = rest.split()
            for path in word.split(","):
                for bytes_ in parse_sizes(sizes):
                    made = entry(path, bytes_, *seconds(time, bytes_, number, dice), pattern=pattern)
                    yield {**merged(made, more), "run": name}
    if not ended:
        yield {**end(), "run": name}


def seconds(text: str, size: int, number: int, dice: random.Random) -> tuple[float, float]:
    """A time of this size in launch `number`, s, and the half of its interval as a share."""
    found = TIME.fullmatch(text)
    assert found, f"no time: {text}"
    factor = float(
        [*(found["factors"] or "1").split("|")][number % (1 + (found["factors"] or "").count("|"))]
    )
    time = float(found["time"]) * UNITS[found["unit"]] + size * float(found["each"] or 0) * 1e-12
    time *= factor * (1 + dice.gauss(0, float(found["jitter"] or 0) / 100))
    return time, float(found["share"] or 0.4) / 100


def told(words: list[str], variables: dict[str, str]) -> str:
    """What the command prints, wirespeed in this process, and its exit code."""
    if words[0] == "cat":
        return Path(words[1]).read_text()
    if words[0] == "text":
        return PageText(Path(words[1]).read_text(), words[2]).text
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        for name, value in variables.items():
            patch.setenv(name, value)
        code = main(words[1:])
    return f"{out.getvalue()}{err.getvalue()}exit code {code:d}"


class PageText(HTMLParser):
    """The visible text of each element of a page that has this id or class, a line for each block."""

    BLOCKS = re.compile(r"p|div|li|d[tdl]|ul|tr|h\d|summary|section|details|pre|table")
    VOID = re.compile(r"meta|link|br|img|input|hr")

    def __init__(self, page: str, name: str) -> None:
        super().__init__()
        self._name, self._depth, self.text = name, 0, ""
        self.feed(page)
        self.text = "\n".join(filter(None, (" ".join(line.split()) for line in self.text.split("\n"))))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {word for key, value in attrs if key in ("id", "class") for word in (value or "").split()}
        if not self.VOID.fullmatch(tag) and (self._depth or self._name in known):
            self._depth += 1
        self.text += "\n" if self.BLOCKS.fullmatch(tag) else " "

    def handle_endtag(self, tag: str) -> None:
        self._depth = max(0, self._depth - 1)
        self.text += "\n" if self.BLOCKS.fullmatch(tag) else " "

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.text += data


def members(text: str) -> Record:
    """MEMBER=JSON of a line; what is no JSON is a word."""
    found: Record = {}
    for match in re.finditer(r"(?:^| )([\w.]+)=", text):
        rest = text[match.end() :]
        try:
            found[match[1]], _ = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            found[match[1]] = rest.split()[0] if rest.split() else ""
    return found


def merged(record: Record, more: Record) -> Record:
    """The record with these members, which may lie deeper: seconds.p99."""
    for name, value in more.items():
        inside, (*way, last) = record, name.split(".")
        for one in way:
            inside = inside.setdefault(one, {})
        inside[last] = value
    return record


def played(file: Path, folder: Path) -> str:
    """The transcript as it is now. A case has a folder of its own, and leaves its files alone there."""
    intro, found = cases(file.read_text())
    texts = [intro]
    for number, case in enumerate(found):
        (own := folder / str(number)).mkdir()
        os.chdir(own)
        texts.append(case.run(told))
        left = {one.name for one in own.iterdir()}
        assert left == {name.split("/")[0] for name in case.files}, texts[-1]
    return "\n".join(texts)


if __name__ == "__main__":
    print(played(Path(sys.argv[1]), Path.cwd()), end="")
