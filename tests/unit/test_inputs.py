"""Files from outside: sizes, depths, devices, pipes, and files packed by gzip, whose limits hold unpacked."""

from __future__ import annotations

import gzip
import json
import os
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import ClassVar

import pytest
from support.fake_run import FakeRun, one_line
from support.golden import Golden
from support.results import entry, run

from wirespeed import inputs
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.allocation import allocated_hosts, named_hosts
from wirespeed.fleet.topology import read_topology
from wirespeed.frontend.rank_limit import refuse_too_many
from wirespeed.job.plan import Plan
from wirespeed.patterns.block_list import read as read_blocks
from wirespeed.patterns.custom import read as read_transfers
from wirespeed.report.check.requirements import read_requirements
from wirespeed.results.reading import Results, read, read_json
from wirespeed.results.store import Store


def lines(records: Sequence[object]) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in records]


READERS: dict[str, Callable[[str], object]] = {
    "results": read,
    "requirements": read_requirements,
    "topology": read_topology,
    "hosts": named_hosts,
    "node file": lambda file: allocated_hosts({"PBS_NODEFILE": file}),
    "transfers": read_transfers,
    "blocks": read_blocks,
    "state": lambda file: read_json(Plan, file),
}
SHARED = ("node file", "transfers", "blocks", "state")
"""Others read these as well, or nobody writes pipes of their names."""
DEEP = {"requirements": "a = ", "transfers": ""}
"""What stands before the brackets."""


JUDGED = (ExitCode.OK, ExitCode.CANNOT_TELL)


def refusal(reader: Callable[[str], object], file: str) -> str:
    with pytest.raises(WirespeedError) as caught:
        reader(file)
    return str(caught.value)


def sparse(file: Path, length: int) -> str:
    with file.open("wb") as stream:
        stream.truncate(length)
    return str(file)


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


class TestLimits:
    def test_what_is_refused(self, tmp_path: Path, golden: Golden) -> None:
        """Protects memory and time: /dev/zero never ends, and a sparse file costs nobody anything."""
        large = sparse(tmp_path / "large", inputs.LARGEST_FILE + 1)
        long = sparse(tmp_path / "long", inputs.LONGEST_LINE + 1)
        os.mkfifo(tmp_path / "pipe")
        texts = {}
        for name, reader in READERS.items():
            files = {"a device": "/dev/zero", "beyond the limit, and unread": large}
            files |= {} if name == "results" else {"read whole, and longer than a line": long}
            files |= {"a pipe, which only one can read": str(tmp_path / "pipe")} if name in SHARED else {}
            if name in DEEP:
                (tmp_path / f"{name}.json").write_text(DEEP[name] + nested(3000))
                files["nested too deep"] = str(tmp_path / f"{name}.json")
            texts[name] = "\n".join(f"{what}: {refusal(reader, file)}" for what, file in files.items())
        golden("inputs/refused", texts)

    def test_a_node_file_that_is_a_device_starts_no_ranks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PBS_NODEFILE", "/dev/zero")
        plan = Plan(pattern="pingpong", ranks=2)
        assert "it is a device" in refusal(lambda _: refuse_too_many([plan]), "")

    def test_results_of_many_lines_end_at_the_limit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Protects from a pipe that goes on for ever: only what was read tells its size."""
        file = tmp_path / "r.jsonl"
        file.write_bytes(b"".join(lines([run(), entry()])))
        monkeypatch.setattr(inputs, "LARGEST_FILE", file.stat().st_size - 1)
        fed(fifo := tmp_path / "pipe", file.read_bytes())
        assert "it holds more than" in refusal(read, str(fifo))


class TestDepth:
    def test_levels(self) -> None:
        """In TOML the table of the file itself is a level."""
        names = ".".join("a" * 3000)
        assert inputs.of_json(nested(inputs.DEEPEST)) and inputs.of_toml(f"a = {nested(inputs.DEEPEST - 1)}")
        toml = (f"a = {nested(inputs.DEEPEST)}", f"a = {nested(3000)}", f"{names} = 1", f"[{names}]")
        json_ = (nested(inputs.DEEPEST + 1), nested(100_000))
        for parse, text in (*product([inputs.of_json], json_), *product([inputs.of_toml], toml)):
            with pytest.raises(inputs.BeyondLimits, match="nested deeper than 64 levels"):
                parse(text)

    def test_brackets_in_texts_do_not_count(self) -> None:
        text = json.dumps(["[" * 200 + '"' + "{" * 200 + "\\"])
        assert inputs.of_json(text) == json.loads(text)

    @pytest.mark.parametrize("tail", ['"' + '\\"' * (1 << 20), '"' + "[" * (1 << 21), '"\\' * (1 << 19)])
    def test_a_text_that_does_not_end_costs_no_more_than_another(self, tail: str) -> None:
        """Protects from a search that begins again at each letter; a minute is far beyond what it takes."""
        began = time.monotonic()
        inputs.check_depth(b"[" * 60 + tail.encode())
        assert time.monotonic() - began < 60

    def test_a_line_too_deep_is_left_out(self, tmp_path: Path) -> None:
        file = tmp_path / "r.jsonl"
        deep = f'{{"kind":"entry","more":{nested(inputs.DEEPEST)}}}\n'.encode()
        file.write_bytes(b"".join((*lines([run()]), deep, b"\xff\xfe\x00\n", *lines([entry()]))))
        results = read(file)
        assert len(results.entries) == 1
        assert results.warnings[0] == "line 2: nested deeper than 64 levels, left out"
        assert results.warnings[1:] == ["line 3: damaged, left out"]


def test_warnings_of_a_file_without_a_good_line_are_few(tmp_path: Path) -> None:
    """Protects memory: a line of two bytes may cost a warning of fifty."""
    file = tmp_path / "r.jsonl"
    file.write_bytes(b"".join(lines([run()])) + b"[]\n" * 5000)
    warnings = read(file).warnings
    assert warnings[0] == "line 2: not a record, left out"
    assert warnings[-1] == "4,000 more lines left out" and len(warnings) == 1001


def fed(fifo: Path, *parts: bytes, pause: float = 0.0) -> None:
    """A pipe into which somebody writes these parts."""
    if not fifo.exists():
        os.mkfifo(fifo)

    def write() -> None:
        time.sleep(pause)
        with fifo.open("wb", buffering=0) as stream:
            for part in parts:
                stream.write(part)

    threading.Thread(target=write, daemon=True).start()


class TestPipes:
    @pytest.fixture
    def said(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        found: list[str] = []
        monkeypatch.setattr(inputs, "notice", found.append)
        return found

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_pipe_is_read(self, tmp_path: Path, packed: bool, said: list[str]) -> None:
        """In pieces, as a program writes them."""
        content = b"".join(lines([run(), entry()]))
        content = gzip.compress(content) if packed else content
        fed(tmp_path / "pipe", *(content[start : start + 100] for start in range(0, len(content), 100)))
        assert len(read(tmp_path / "pipe").entries) == 1

    @pytest.mark.parametrize("opens", [False, True], ids=["nobody", "silent"])
    def test_silence_is_told_once(
        self, tmp_path: Path, opens: bool, said: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`opens`: somebody has it open from the beginning, and writes nothing."""
        monkeypatch.setattr(inputs, "PATIENCE_S", 0.05)
        fifo = tmp_path / "pipe"
        os.mkfifo(fifo)
        held = os.open(fifo, os.O_RDWR) if opens else -1

        def write() -> None:
            while not said:
                time.sleep(0.01)
            writer = os.open(fifo, os.O_WRONLY)
            if opens:
                os.close(held)
            for line in lines([run(), entry()]):
                time.sleep(0.2)
                os.write(writer, line)
            os.close(writer)

        threading.Thread(target=write, daemon=True).start()
        assert len(read(fifo).entries) == 1
        assert said == [f"{fifo}: a pipe, from which nothing has come for 0.05 s; still waiting"]

    def test_the_command_says_so_on_stderr(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(inputs, "PATIENCE_S", 0.05)
        fed(fifo := tmp_path / "pipe", *lines([run(), entry()]), pause=0.5)
        assert main(["show", str(fifo)]) == ExitCode.OK
        assert one_line(capsys.readouterr().err).startswith(f"wirespeed: warning: {fifo}: a pipe, from which")

    def test_a_pipe_in_a_folder_is_no_result_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.jsonl")
        (tmp_path / "r.jsonl").write_bytes(b"".join(lines([run(), entry()])))
        assert main(["compare", str(tmp_path), str(tmp_path / "r.jsonl")]) in JUDGED


class TestGzip:
    CONTENT = b"".join(lines([run(), entry(), entry(16)]))

    def read(self, tmp_path: Path, content: bytes | bytearray) -> tuple[int, list[str]]:
        file = tmp_path / "r.jsonl.gz"
        file.write_bytes(content)
        results = read(file)
        return len(results.entries), results.warnings

    MIDDLE = len(CONTENT) // 2
    FLUSHED = zlib.compressobj(wbits=31)
    LONG = b"".join((*lines([run()]), b" " * (17 << 20), b"\n", *lines([entry()])))
    CASES: ClassVar[dict[str, tuple[bytes, tuple[int, list[str]]]]] = {
        "whole": (gzip.compress(CONTENT), (2, [])),
        "plain, though its name says more": (CONTENT, (2, [])),
        "several members and padding, as cat and tapes make it": (
            gzip.compress(CONTENT[:MIDDLE]) + gzip.compress(CONTENT[MIDDLE:]) + b"\0" * 100,
            (2, []),
        ),
        "cut off": (
            FLUSHED.compress(CONTENT) + FLUSHED.flush(zlib.Z_SYNC_FLUSH),
            (2, ["line 4: gzip's data are cut off from here on, left out"]),
        ),
        "a long line": (gzip.compress(LONG, 1), (1, ["line 2: longer than 16 MiB, left out"])),
    }

    @pytest.mark.parametrize("case", CASES)
    def test_is_read(self, case: str, tmp_path: Path) -> None:
        packed, found = self.CASES[case]
        assert self.read(tmp_path, packed) == found

    def test_that_is_damaged_gives_what_comes_long_before(self, tmp_path: Path) -> None:
        """Unpacked block by block: of the damaged one nothing is given."""
        rest = b"".join(lines([{"kind": "other", "text": secrets.token_hex(1000)} for _ in range(1000)]))
        packed = bytearray(gzip.compress(self.CONTENT + rest))
        packed[-1000:-500] = bytes(500)
        found, warnings = self.read(tmp_path, packed)
        assert found == 2 and warnings[-1].endswith("gzip's data are damaged from here on, left out")

    def test_without_one_good_line_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(WirespeedError, match="gzip's data are cut off"):
            self.read(tmp_path, gzip.compress(self.CONTENT)[:30])

    @pytest.mark.parametrize("line", [b"\0", b'{"kind":"other"}\n'])
    def test_a_bomb_is_refused(self, line: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Protects memory and time from 1 MB that unpacks to 1 GB: no line of it is decoded."""
        monkeypatch.setattr(inputs, "LARGEST_FILE", 64 << 20)
        monkeypatch.setattr(Results, "add_line", pytest.fail)
        packed = gzip.compress(self.CONTENT + line * ((65 << 20) // len(line)), 1)
        assert len(packed) < 1 << 20
        with pytest.raises(WirespeedError, match="it holds more than 64 MiB"):
            self.read(tmp_path, packed)


class TestCommands:
    """Each command that takes a result file takes a packed one."""

    @pytest.fixture
    def file(self, tmp_path: Path, fake: FakeRun, monkeypatch: pytest.MonkeyPatch) -> str:
        plain = Path(__file__).parents[2] / "results" / "h200-x2-exchange.jsonl"
        (tmp_path / "old").mkdir()
        file = tmp_path / "old" / "wirespeed-1.jsonl.gz"
        file.write_bytes(gzip.compress(plain.read_bytes()))
        monkeypatch.chdir(tmp_path)
        return str(file)

    @pytest.mark.parametrize(
        "words",
        [
            *("show FILE", "compare FILE FILE", "compare old old", "compare old/*.gz FILE", "systems FILE"),
            *("check --learn FILE --spread 1% -o site.toml", "report FILE -o page.html", "fleet show old"),
            "doctor --after-hang FILE",
        ],
    )
    def test_reads_it(self, file: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        code = main(words.replace("FILE", file).split())
        printed = capsys.readouterr()
        if words.startswith("fleet"):
            # Two GPUs of one host are no fleet, but the file was read.
            assert "1 result files, no figure of one node" in printed.err or code in (0, 6, 8), printed.err
        elif words.startswith("doctor"):
            assert "cannot read" not in printed.err
        else:
            assert code in JUDGED, printed.err

    @pytest.mark.parametrize("resume", [False, True])
    def test_none_is_written(self, file: str, resume: bool) -> None:
        before = Path(file).read_bytes()
        with pytest.raises(WirespeedError, match="results are written unpacked, line by line: name"):
            Store(file, resume)
        assert Path(file).read_bytes() == before

    def test_one_of_another_name_is_not_gone_on_with(self, file: str, tmp_path: Path) -> None:
        other = tmp_path / "r.jsonl"
        other.write_bytes(Path(file).read_bytes())
        with pytest.raises(WirespeedError, match=r"gzip has packed it; unpack it \(gunzip\)"):
            Store(other, resume=True)
        assert other.read_bytes() == Path(file).read_bytes()

    def test_none_is_overwritten(self, file: str) -> None:
        page = Path(file).rename("page.html")
        before = page.read_bytes()
        assert main(["report", "page.html", "-o", "page.html"]) == ExitCode.CANNOT_WRITE
        assert page.read_bytes() == before
