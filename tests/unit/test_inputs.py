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
from pathlib import Path

import pytest
from support.fake_run import FakeRun, one_line
from support.results import entry, run

from wirespeed import inputs
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.fleet.allocation import allocated_hosts, named_hosts
from wirespeed.fleet.topology import read_topology
from wirespeed.frontend.rank_limit import refuse_too_many
from wirespeed.job.plan import Plan
from wirespeed.report.check.requirements import read_requirements
from wirespeed.results.reading import Results, read, read_json
from wirespeed.results.store import Store


def lines(records: Sequence[object]) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in records]


def custom(file: str) -> object:
    from wirespeed.patterns.custom import read as read_transfers

    return read_transfers(file)


def block_list(file: str) -> object:
    from wirespeed.patterns.block_list import read as read_blocks

    return read_blocks(file)


def node_file(file: str) -> object:
    return allocated_hosts({"PBS_NODEFILE": file})


READERS: dict[str, Callable[[str], object]] = {
    "results": read,
    "requirements": read_requirements,
    "topology": read_topology,
    "hosts": named_hosts,
    "node file": node_file,
    "transfers": custom,
    "blocks": block_list,
    "state": lambda file: read_json(Plan, file),
}
EVERY_READER = pytest.mark.parametrize("reader", READERS.values(), ids=list(READERS))
SHARED = ("node file", "transfers", "blocks", "state")
"""Others read these as well, or nobody writes pipes of their names."""


def refusal(reader: Callable[[str], object], file: str) -> str:
    with pytest.raises(WirespeedError) as caught:
        reader(file)
    return str(caught.value)


class TestLimits:
    @EVERY_READER
    def test_a_device_is_refused(self, reader: Callable[[str], object]) -> None:
        """Protects memory and time: /dev/zero never ends."""
        assert "it is a device" in refusal(reader, "/dev/zero")

    @EVERY_READER
    def test_a_file_beyond_the_limit_is_refused_unread(
        self, reader: Callable[[str], object], tmp_path: Path
    ) -> None:
        file = tmp_path / "large"
        with file.open("wb") as stream:
            stream.truncate(inputs.LARGEST_FILE + 1)
        assert "it holds more than 1 GiB" in refusal(reader, str(file))

    @pytest.mark.parametrize("name", sorted(READERS.keys() - {"results"}))
    def test_a_file_read_whole_is_no_longer_than_a_line(self, name: str, tmp_path: Path) -> None:
        file = tmp_path / "long"
        with file.open("wb") as stream:
            stream.truncate(inputs.LONGEST_LINE + 1)
        assert "it is longer than 16 MiB" in refusal(READERS[name], str(file))

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
        fifo = tmp_path / "pipe"
        os.mkfifo(fifo)
        monkeypatch.setattr(inputs, "LARGEST_FILE", file.stat().st_size - 1)
        threading.Thread(target=lambda: fifo.write_bytes(file.read_bytes()), daemon=True).start()
        assert "it holds more than" in refusal(read, str(fifo))


class TestDepth:
    @staticmethod
    def nested(levels: int) -> str:
        return "[" * levels + "]" * levels

    def test_json(self) -> None:
        assert inputs.of_json(self.nested(inputs.DEEPEST))
        for levels in (inputs.DEEPEST + 1, 100_000):
            with pytest.raises(inputs.BeyondLimits, match="nested deeper than 64 levels"):
                inputs.of_json(self.nested(levels))

    def test_toml(self) -> None:
        """The table of the file itself is a level."""
        assert inputs.of_toml(f"a = {self.nested(inputs.DEEPEST - 1)}")
        deep = self.nested(inputs.DEEPEST)
        names = ".".join("a" * 3000)
        for text in (f"a = {deep}", f"a = {self.nested(3000)}", f"{names} = 1", f"[{names}]"):
            with pytest.raises(inputs.BeyondLimits, match="nested deeper than 64 levels"):
                inputs.of_toml(text)

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
        deep = f'{{"kind":"entry","more":{self.nested(inputs.DEEPEST)}}}\n'.encode()
        file.write_bytes(b"".join((*lines([run()]), deep, b"\xff\xfe\x00\n", *lines([entry()]))))
        results = read(file)
        assert len(results.entries) == 1
        assert results.warnings[0] == "line 2: nested deeper than 64 levels, left out"
        assert results.warnings[1:] == ["line 3: damaged, left out"]

    @pytest.mark.parametrize(("name", "text"), [("requirements", "a = "), ("transfers", "")])
    def test_files_too_deep_are_refused(self, name: str, text: str, tmp_path: Path) -> None:
        file = tmp_path / "deep.json"
        file.write_text(text + self.nested(3000))
        assert "it is nested deeper than 64 levels" in refusal(READERS[name], str(file))


def test_warnings_of_a_file_without_a_good_line_are_few(tmp_path: Path) -> None:
    """Protects memory: a line of two bytes may cost a warning of fifty."""
    file = tmp_path / "r.jsonl"
    file.write_bytes(b"".join(lines([run()])) + b"[]\n" * 5000)
    warnings = read(file).warnings
    assert warnings[0] == "line 2: not a record, left out"
    assert warnings[-1] == "4,000 more lines left out" and len(warnings) == 1001


class TestPipes:
    @pytest.fixture
    def said(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        found: list[str] = []
        monkeypatch.setattr(inputs, "notice", found.append)
        return found

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_pipe_is_read(self, tmp_path: Path, packed: bool, said: list[str]) -> None:
        """In pieces, as a program writes them."""
        fifo = tmp_path / "pipe"
        os.mkfifo(fifo)
        content = b"".join(lines([run(), entry()]))
        content = gzip.compress(content) if packed else content

        def write() -> None:
            with fifo.open("wb", buffering=0) as stream:
                for start in range(0, len(content), 100):
                    stream.write(content[start : start + 100])

        threading.Thread(target=write, daemon=True).start()
        assert len(read(fifo).entries) == 1

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

    @pytest.mark.parametrize("name", SHARED)
    def test_one_that_others_read_too_is_refused(self, name: str, tmp_path: Path) -> None:
        fifo = tmp_path / "pipe"
        os.mkfifo(fifo)
        assert "it is a pipe, which only one can read" in refusal(READERS[name], str(fifo))

    def test_the_command_says_so_on_stderr(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(inputs, "PATIENCE_S", 0.05)
        fifo = tmp_path / "pipe"
        os.mkfifo(fifo)

        def write() -> None:
            time.sleep(0.5)
            fifo.write_bytes(b"".join(lines([run(), entry()])))

        threading.Thread(target=write, daemon=True).start()
        assert main(["show", str(fifo)]) == ExitCode.OK
        assert one_line(capsys.readouterr().err).startswith(f"wirespeed: warning: {fifo}: a pipe, from which")

    def test_a_pipe_in_a_folder_is_no_result_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.jsonl")
        (tmp_path / "r.jsonl").write_bytes(b"".join(lines([run(), entry()])))
        assert main(["compare", str(tmp_path), str(tmp_path / "r.jsonl")]) in (
            ExitCode.OK,
            ExitCode.CANNOT_TELL,
        )


class TestGzip:
    CONTENT = b"".join(lines([run(), entry(), entry(16)]))

    def read(self, tmp_path: Path, content: bytes | bytearray) -> tuple[int, list[str]]:
        file = tmp_path / "r.jsonl.gz"
        file.write_bytes(content)
        results = read(file)
        return len(results.entries), results.warnings

    MIDDLE = len(CONTENT) // 2
    FLUSHED = zlib.compressobj(wbits=31)

    @pytest.mark.parametrize(
        ("packed", "found"),
        [
            pytest.param(gzip.compress(CONTENT), (2, []), id="whole"),
            pytest.param(CONTENT, (2, []), id="plain, though its name says more"),
            pytest.param(
                gzip.compress(CONTENT[:MIDDLE]) + gzip.compress(CONTENT[MIDDLE:]) + b"\0" * 100,
                (2, []),
                id="several members and padding, as cat and tapes make it",
            ),
            pytest.param(
                FLUSHED.compress(CONTENT) + FLUSHED.flush(zlib.Z_SYNC_FLUSH),
                (2, ["line 4: gzip's data are cut off from here on, left out"]),
                id="cut off",
            ),
            pytest.param(
                gzip.compress(b"".join((*lines([run()]), b" " * (17 << 20), b"\n", *lines([entry()]))), 1),
                (1, ["line 2: longer than 16 MiB, left out"]),
                id="a long line",
            ),
        ],
    )
    def test_is_read(self, packed: bytes, found: tuple[int, list[str]], tmp_path: Path) -> None:
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
            ["show", "{file}"],
            ["compare", "{file}", "{file}"],
            ["compare", "old", "old"],
            ["compare", "old/*.gz", "{file}"],
            ["check", "--learn", "{file}", "--spread", "1%", "-o", "site.toml"],
            ["report", "{file}", "-o", "page.html"],
            ["systems", "{file}"],
            ["doctor", "--after-hang", "{file}"],
            ["fleet", "show", "old"],
        ],
        ids=" ".join,
    )
    def test_reads_it(self, file: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        code = main([word.format(file=file) for word in words])
        printed = capsys.readouterr()
        if words[0] == "fleet":
            # Two GPUs of one host are no fleet, but the file was read.
            assert "1 result files, no figure of one node" in printed.err or code in (0, 6, 8), printed.err
        elif words[0] == "doctor":
            assert "cannot read" not in printed.err
        else:
            assert code in (ExitCode.OK, ExitCode.CANNOT_TELL), printed.err

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
