"""What the doctor prints of environments and records: nothing is executed, or reaches a terminal raw."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from support import fake_machine
from support.examples import examples
from support.fake_facts import facts_of
from support.fake_machine import FakeNvml
from support.records import as_read, console, text_of

from wirespeed.doctor.facts import model
from wirespeed.doctor.facts.model import MachineFacts
from wirespeed.doctor.finding import Cost, Finding
from wirespeed.doctor.findings import find_all
from wirespeed.doctor.measured import Stretch
from wirespeed.doctor.result import Result
from wirespeed.doctor.shell import assigned, comment, own_shell, quoted, split, visible
from wirespeed.host.variables import table
from wirespeed.report.doctor.terminal import print_result, shell_lines
from wirespeed.results.decoding import DoesNotFit
from wirespeed.results.findings import RecordedFinding

HARMFUL = (
    "tcp\ntouch pwned #",
    "tcp\r\ntouch pwned\r",
    "$(touch pwned)",
    "`touch pwned`",
    "';touch pwned;'",
    '";touch pwned;"',
    "^sm\\\ntouch pwned",
    "tcp' \n touch pwned '",
    "lo\x1b[2J\x85touch pwned",
    "lo\u2028touch pwned\u2029\x0b\x0c",
    "\udcff\ntouch pwned",
    ">pwned",
    "!touch",
)
NAMES = sorted(
    {entry["name"] for entry in table("fault")}
    | {"UCX_TLS", "UCX_NET_DEVICES", "NCCL_IB_HCA", "NCCL_PROTO", "NCCL_X\ntouch pwned", "UCX_$(touch pwned)"}
)
NO_UTF8 = st.characters(categories=["Cs"], min_codepoint=0xDC80, max_codepoint=0xDCFF)
"""How Python shows bytes of the environment that are no UTF-8; it holds no other surrogates."""
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0") | NO_UTF8
VALUES = st.sampled_from(HARMFUL) | st.text(LETTERS, max_size=12)
MIXED = st.builds(
    "".join, st.lists(st.sampled_from(["0", "tcp", "lo", "\n", "#", "'", '"', "touch pwned", "$("]))
)

COMMANDS = "touch sudo pip wirespeed mpirun srun numactl taskset nvidia-smi docker"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy machine's files."""
    return fake_machine.tree(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Commands that do nothing but leave a file in the folder in which they are started."""
    folder = tmp_path_factory.mktemp("bin")
    for name in COMMANDS.split():
        (folder / name).write_text(f"#!/bin/sh\n: > called-{name}\n")
        (folder / name).chmod(0o755)
    return folder


def executed(script: str, stubs: Path, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Of bash, which first checks the syntax, in an empty folder."""
    text = script.encode("utf-8", "surrogateescape")
    words = (shutil.which("bash") or "bash", "--noprofile", "--norc")

    def bash(*more: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            (*words, *more), env={"PATH": str(stubs)}, cwd=folder, input=text, capture_output=True
        )

    checked = bash("-n")
    assert (checked.returncode, checked.stderr) == (0, b""), script
    return bash()


@examples(60)
@given(variables=st.dictionaries(st.sampled_from(NAMES), VALUES | MIXED, max_size=6))
@example(variables=dict.fromkeys(NAMES, HARMFUL[0]))
@example(variables={"UCX_TLS": HARMFUL[0]})
@example(variables={"UCX_TLS": HARMFUL[6], "UCX_NET_DEVICES": HARMFUL[8], "NCCL_PROTO": HARMFUL[10]})
def test_no_value_of_the_environment_is_executed(
    variables: dict[str, str], root: Path, stubs: Path, tmp_path: Path
) -> None:
    """Protects users of `eval "$(wirespeed doctor --fix)"`: nothing starts, no file appears."""
    facts = facts_of(root, FakeNvml(p2p=4), variables=variables)
    script = "".join(f"{line}\n" for line in shell_lines(find_all(facts)))
    done = executed(script, stubs, tmp_path)
    assert not list(tmp_path.iterdir()), script
    # A command that is not there would be named here; a limit that may not be raised is no fault of ours.
    wrong = [line for line in done.stderr.splitlines() if b"ulimit" not in line]
    assert not wrong, script


@examples(200)
@given(st.lists(VALUES | MIXED, max_size=3), st.booleans())
@example(["export A=1\ntouch pwned"], True)
@example(["export A=1;touch pwned"], True)
@example(["unset A $(touch pwned)"], True)
@example(["ulimit -l 5;touch pwned"], True)
@example(["# a comment\rtouch pwned"], True)
def test_each_line_is_a_comment_or_changes_the_shell(texts: list[str], sure: bool) -> None:
    """Protects from a finding, of whatever origin, whose texts are commands."""
    finding = Finding("k", " ".join(texts), Cost.HIGH, remedy=texts, suggestion=not sure)
    lines = shell_lines([finding])
    assert len(lines) == 1 + len(texts)
    for line in lines:
        assert line.isprintable()
        assert line.startswith("# ") or own_shell(line) == line


@given(VALUES | MIXED)
@example(HARMFUL[0])
@example("a'b\\c\n")
def test_a_quoted_value_is_one_word_again(value: str) -> None:
    """Protects the remedy's meaning: the shell reads what the variable held."""
    if any(0xD7FF < ord(one) < 0xE000 for one in value):
        return
    script = f"printf %s {quoted(value)}"
    assert script.isprintable()
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
    )
    assert done.stdout.decode() == value


@pytest.mark.parametrize(
    ("line", "command", "explained"),
    [
        ("unset A", "unset A", ""),
        ("unset A  # b # c", "unset A", "b # c"),
        ("# nothing but words", "", "nothing but words"),
        ("export A='x # y'  # z", "export A='x # y'", "z"),
        ('export A="x # y"', 'export A="x # y"', ""),
        ("export A=a#b # c", "export A=a#b", "c"),
        ("echo it's # open", "echo it's # open", ""),
    ],
)
def test_a_command_and_its_explanation(line: str, command: str, explained: str) -> None:
    assert split(line) == (command, explained)


@pytest.mark.parametrize(
    ("line", "anew"),
    [
        ("export A=1", "export A=1"),
        ("export A=^x # why", "export A='^x'  # why"),
        ("export A=$(id)", "export A='$(id)'"),
        ("export A=$(touch x)", ""),
        ("export A=1 B=2", ""),
        ("export A=$'x'", ""),
        ("export 'A B'=1", ""),
        ("ulimit -l unlimited", "ulimit -l unlimited"),
        ("ulimit -l $(id)", ""),
        ("unset A; touch x", ""),
        ("sudo reboot", ""),
        ("export A='", ""),
    ],
)
def test_what_changes_this_shell_alone(line: str, anew: str) -> None:
    assert own_shell(line) == anew


def test_what_is_shown_is_one_visible_line() -> None:
    assert visible("a\n\r\t\x1b\x85\u2028\udcff\U000e0001") == (
        "a\\n\\r\\t\\x1b\\u0085\\u2028\\udcff\\U000e0001"
    )
    assert assigned("UCX_TLS", HARMFUL[0]) == "UCX_TLS=$'tcp\\ntouch pwned #'"
    assert len(assigned("A", "x" * 9999)) < 200
    assert comment("# a\nb") == "# a\\nb"


def test_the_terminal_gets_no_control_character(root: Path) -> None:
    """Protects a terminal from names and values that clear it or write its title."""
    bad = "\x1b]0;pwned\x07\x85"
    console = Console(width=200, record=True, markup=False, highlight=False, emoji=False)
    facts = facts_of(root, variables={"UCX_TLS": f"tcp{bad}", "NCCL_PROTO": f"LL{bad}", f"UCX_{bad}": "1"})
    with console.capture() as capture:
        print_result(console, Result(_renamed(facts, bad), tuple(find_all(facts))))
    said = capture.get()
    assert "\\x1b]0;pwned\\x07" in said
    assert all(line.isprintable() for line in said.split("\n"))


def _renamed(facts: MachineFacts, bad: str) -> MachineFacts:
    from msgspec import structs

    nets = tuple(structs.replace(one, name=f"eth{bad}") for one in facts.nets)
    return structs.replace(facts, nets=nets, lacking=(f"lacks {bad}",), software={"nccl": bad})


PARTS = [part for part in vars(model).values() if isinstance(part, type) and issubclass(part, msgspec.Struct)]
MEMBERS = sorted({name for part in PARTS for name in part.__struct_fields__})
WORDS = st.none() | st.booleans() | st.integers(-2, 300) | st.floats() | st.text(max_size=4)
TEXTS = st.sampled_from(["cuda", "lo\x1b[2J", "works", "NVIDIA H200", "a\nb", "0000:00:06.0"])
ODD = st.recursive(
    WORDS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=6),
    max_leaves=20,
)
FACTS = st.dictionaries(st.sampled_from(model.MachineFacts.__struct_fields__), ODD, max_size=12)
FINDING = st.dictionaries(st.sampled_from(RecordedFinding.__struct_fields__), ODD, max_size=8)
FASTEST = st.dictionaries(st.sampled_from(Stretch.__struct_fields__), ODD, max_size=8)


@examples(60)
@given(facts=FACTS, findings=st.lists(FINDING, max_size=3), fastest=st.lists(FASTEST, max_size=2))
def test_any_record_is_shown(facts: object, findings: object, fastest: object) -> None:
    """Protects `wirespeed show` from a stack trace, and the terminal from what such a file wants it to do."""
    record = {"kind": "doctor", "at": "now", "facts": facts, "findings": findings, "fastest": fastest}
    read = []
    # Such a line is left out of a file.
    with suppress(DoesNotFit):
        read = as_read([record])
    for one in read:
        result = Result.of(one)  # type: ignore[arg-type]
        screen = console(80)
        print_result(screen, result)
        assert all(line.isprintable() for line in text_of(screen).split("\n"))
        assert all(line.isprintable() for line in shell_lines(result.findings))
